// SPDX-License-Identifier: MIT
// The picture: one tile for each slice, and one cell in it for each page.
// Owns: the layout, and what of it is drawn at this zoom.
// Must not know: the pointer.

// Layout: tiles row by row, 32 of them are a huge page. A region begins on a row of its own.
const canvas = byId('view'), context = canvas.getContext('2d');
const GAP = 3;  // rows of tiles between regions
let columns = 32, rows = 0;
const view = {x: 0, y: 0, scale: 8};  // the place of tile (0, 0), and pixels of a tile
function layOut() {
  const tiles = regions.reduce((sum, region) => sum + region.tiles + 16, 0);
  const aspect = canvas.clientWidth / Math.max(200, canvas.clientHeight);
  columns = Math.min(1024, Math.max(32, Math.round(Math.sqrt(tiles * aspect) / 32) * 32));
  rows = 1.2;
  for (const region of regions) {
    region.row = Math.ceil(rows);
    region.rows = Math.ceil(region.tiles / columns);
    rows = region.row + region.rows + GAP;
  }
  rows -= GAP - 1;
}
const STRIP = 512;  // rows of tiles in one image
function paint() {
  for (const region of regions) {
    region.images = [];
    for (let from = 0; from < region.rows; from += STRIP) {
      const height = Math.min(STRIP, region.rows - from);
      const image = new OffscreenCanvas(columns * SIDE, height * SIDE);
      const pixels = new ImageData(columns * SIDE, height * SIDE);
      const words = new Uint32Array(pixels.data.buffer), width = columns * SIDE;
      const end = Math.min(region.tiles, (from + height) * columns);
      let lastKey = -1, lastWord = 0;
      for (let tile = from * columns; tile < end; tile++) {
        const left = (tile % columns) * SIDE, top = (Math.floor(tile / columns) - from) * SIDE;
        for (let k = 0; k < PER_TILE; k++) {
          const page = tile * PER_TILE + k, state = region.state[page], own = region.owner[page];
          if (own < 0) continue;
          const key = own * 32 + state * 2 + region.huge[page];
          if (key !== lastKey) {
            lastWord = word(colourOf(state, pieces[own], region.huge[page] === 1));
            lastKey = key;
          }
          words[(top + (k >> 2)) * width + left + (k & 3)] = lastWord;
        }
      }
      image.getContext('2d').putImageData(pixels, 0, 0);
      region.images.push({image, from, height});
    }
  }
  draw();
}
let hovered = -1;
function outline(piece, region, colour, width) {
  // Only its border: an edge between two tiles of which one is not the piece's.
  const first = Math.floor((piece.base - region.base) / tileBytes);
  const last = Math.ceil((piece.base + piece.pages * pageBytes - region.base) / tileBytes) - 1;
  context.strokeStyle = colour; context.lineWidth = width; context.beginPath();
  const at = tile => tile >= first && tile <= last;
  const lowRow = Math.floor((-view.y) / view.scale) - region.row;
  const highRow = Math.ceil((canvas.clientHeight - view.y) / view.scale) - region.row;
  const from = Math.max(first, lowRow * columns), to = Math.min(last, highRow * columns);
  for (let tile = from; tile <= to; tile++) {
    const column = tile % columns;
    const x = view.x + column * view.scale;
    const y = view.y + (region.row + Math.floor(tile / columns)) * view.scale, s = view.scale;
    if (column === 0 || !at(tile - 1)) { context.moveTo(x, y); context.lineTo(x, y + s); }
    if (column === columns - 1 || !at(tile + 1)) { context.moveTo(x + s, y); context.lineTo(x + s, y + s); }
    if (!at(tile - columns)) { context.moveTo(x, y); context.lineTo(x + s, y); }
    if (!at(tile + columns)) { context.moveTo(x, y + s); context.lineTo(x + s, y + s); }
  }
  context.stroke();
}
let isWaiting = false;
function draw() {
  if (isWaiting) return;
  isWaiting = true;
  requestAnimationFrame(() => { isWaiting = false; drawNow(); });
}
function visiblePieces(region) {
  const s = view.scale;
  const low = Math.max(0, Math.floor(-view.y / s) - region.row) * columns * PER_TILE;
  const high = Math.min(region.state.length,
    (Math.ceil((canvas.clientHeight - view.y) / s) - region.row) * columns * PER_TILE);
  const seen = new Set();
  for (let page = low; page < high; page += PER_TILE) {
    for (const at of [page, page + PER_TILE - 1]) if (region.owner[at] >= 0) seen.add(region.owner[at]);
  }
  return seen;
}
function drawNow() {
  const ratio = devicePixelRatio || 1, s = view.scale;
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.fillStyle = getComputedStyle(document.body).backgroundColor;
  context.fillRect(0, 0, canvas.clientWidth, canvas.clientHeight);
  for (const region of regions) {
    context.imageSmoothingEnabled = s * ratio < SIDE;
    for (const {image, from, height} of region.images ?? []) {
      const y = view.y + (region.row + from) * s;
      if (y > canvas.clientHeight || y + height * s < 0) continue;
      context.drawImage(image, view.x, y, columns * s, height * s);
    }
    const top = view.y + region.row * s;
    if (s >= 9) {
      if (s >= 28) grid(region, s);
      for (const own of visiblePieces(region)) {
        outline(pieces[own], region, theme.edge, 1);
        if (s >= 42) labelPiece(pieces[own], region);
      }
    }
    if (top > -20 && top < canvas.clientHeight + 20) {
      context.fillStyle = theme.faint;
      context.font = '12px system-ui, "DejaVu Sans", sans-serif';
      const label = `${hex(region.base)} · ${size(region.tiles * tileBytes)}`;
      if (GAP * s > 13 || region === regions[0]) {
        context.fillText(label, Math.max(view.x, 4), top - 5);
      }
    }
  }
  if (hovered >= 0) {
    const region = regions.find(one => one === hover.region);
    if (region) outline(pieces[hovered], region, theme.mark, 2);
  }
}
function grid(region, s) {
  context.strokeStyle = theme.edge; context.lineWidth = .4; context.beginPath();
  const low = Math.max(0, Math.floor(-view.y / s) - region.row);
  const high = Math.min(region.rows, Math.ceil((canvas.clientHeight - view.y) / s) - region.row);
  if (high <= low) return;
  const step = s / SIDE, bottom = view.y + (region.row + high) * s, top = view.y + (region.row + low) * s;
  const width = Math.min(columns, region.tiles) * s;
  for (let x = 0; x <= width + .1; x += step) {
    if (view.x + x < 0 || view.x + x > canvas.clientWidth) continue;
    context.moveTo(view.x + x, top); context.lineTo(view.x + x, bottom);
  }
  for (let y = top; y <= bottom + .1; y += step) { context.moveTo(view.x, y); context.lineTo(view.x + width, y); }
  context.stroke();
}
function labelPiece(piece, region) {
  const tile = Math.floor((piece.base - region.base) / tileBytes);
  const x = view.x + (tile % columns) * view.scale;
  const y = view.y + (region.row + Math.floor(tile / columns)) * view.scale;
  if (x > canvas.clientWidth || x + view.scale < 0) return;
  const text = piece.kind === 0 ? blockSize(piece.block, view.scale < 70) : piece.kind === 1 ? size(piece.block) : KINDS[piece.kind][2];
  context.save();
  context.beginPath();
  const room = Math.min(Math.ceil(piece.pages / PER_TILE), columns - tile % columns) * view.scale;
  context.rect(x, y, room, view.scale); context.clip();
  context.font = '600 11px system-ui, "DejaVu Sans", sans-serif';
  const wide = Math.min(context.measureText(text).width + 8, room - 4);
  context.fillStyle = theme.card; context.globalAlpha = .82;
  context.fillRect(x + 3, y + 3, wide, 16);
  context.globalAlpha = 1; context.fillStyle = theme.ink;
  context.fillText(text, x + 7, y + 15);
  context.restore();
}
