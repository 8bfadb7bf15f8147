// SPDX-License-Identifier: MIT
// Owns: what the pointer and the keys do: hover, zoom, drag, and the way to an address.
// Must not know: how a tile is drawn.

// The pointer.
const hover = {region: null};
function pageAt(x, y) {
  const column = Math.floor((x - view.x) / view.scale), row = Math.floor((y - view.y) / view.scale);
  if (column < 0 || column >= columns) return null;
  for (const region of regions) {
    const inside = row - region.row;
    if (inside < 0 || inside >= region.rows) continue;
    const tile = inside * columns + column;
    if (tile >= region.tiles) return null;
    const px = Math.floor(((x - view.x) / view.scale - column) * SIDE);
    const py = Math.floor(((y - view.y) / view.scale - row) * SIDE);
    const page = tile * PER_TILE + Math.min(3, py) * SIDE + Math.min(3, px);
    return {region, page, own: region.owner[page]};
  }
  return null;
}
function tell(x, y) {
  const tip = byId('tip'), found = pageAt(x, y);
  const own = found && found.own >= 0 ? found.own : -1;
  if (own !== hovered) { hovered = own; hover.region = found && found.region; draw(); }
  if (own < 0) { tip.style.visibility = 'hidden'; return; }
  const piece = pieces[own], state = found.region.state[found.page];
  const lines = [];
  const end = piece.base + piece.pages * pageBytes;
  if (piece.kind === 0) {
    const share = piece.blocks ? Math.round(100 * piece.live / piece.blocks) : 0;
    lines.push(`<b>slab of ${blockSize(piece.block)} blocks</b>`);
    lines.push(`<b>${count(piece.live)}</b> of ${count(piece.blocks)} blocks live, ${share} %`);
    if (piece.waiting) lines.push(`${count(piece.waiting)} wait in lists of threads`);
    lines.push(piece.heap < data.heap_count_max ? `heap ${piece.heap}` : `instance ${piece.heap - data.heap_count_max}`);
  } else if (piece.kind === 1) {
    lines.push(`<b>large block, ${size(piece.block)}</b>`);
  } else {
    lines.push(`<b>${KINDS[piece.kind][2]}</b>`);
  }
  const whole = piece.pages * pageBytes;
  if (piece.kind === 7) {
    lines.push(`<b>${count(piece.samples)}</b> samples live here, ${size(piece.room)} of ${size(whole)} free`);
  }
  lines.push(data.pages_known ? `${size(piece.resident)} of ${size(whole)} resident` : size(whole));
  const address = found.region.base + found.page * pageBytes;
  const page = state === ABSENT ? 'not resident' :
    (data.pages_known ? (found.region.huge[found.page] ? 'resident, in a huge page' : 'resident') : 'unknown') +
    (piece.kind <= 1 || piece.kind === 7 ? `, ${state === 1 ? 'nothing' : state === 9 ? 'all' : 'about ' + (state - 1) + '/8'} live` : '');
  lines.push(`<code>${hex(piece.base)} to ${hex(end)}</code>`);
  lines.push(`<span class="faint">page <code>${hex(address)}</code>: ${page}</span>`);
  tip.innerHTML = lines.join('<br>');
  tip.style.visibility = 'visible';
  const wide = tip.offsetWidth, high = tip.offsetHeight;
  tip.style.left = Math.max(4, x + 18 + wide > canvas.clientWidth ? x - wide - 14 : x + 18) + 'px';
  tip.style.top = Math.max(4, Math.min(y + 14, canvas.clientHeight - high - 6)) + 'px';
}
function zoom(factor, x = canvas.clientWidth / 2, y = canvas.clientHeight / 2) {
  const scale = Math.min(220, Math.max(.4, view.scale * factor));
  view.x = x - (x - view.x) * scale / view.scale;
  view.y = y - (y - view.y) * scale / view.scale;
  view.scale = scale;
  draw();
}
function fit() {
  const scale = Math.min(canvas.clientWidth / (columns + 1), canvas.clientHeight / (rows + .5));
  view.scale = Math.min(48, Math.max(.4, scale));
  view.x = Math.max(8, (canvas.clientWidth - columns * view.scale) / 2);
  view.y = Math.max(4, (canvas.clientHeight - rows * view.scale) / 3);
  if (view.y + view.scale < 18) view.y = 18 - view.scale;
  draw();
}
canvas.addEventListener('wheel', event => {
  event.preventDefault();
  zoom(Math.exp(-event.deltaY * (event.deltaMode ? .05 : .0016)), event.offsetX, event.offsetY);
  tell(event.offsetX, event.offsetY);
}, {passive: false});
let dragged = null;
canvas.addEventListener('pointerdown', event => {
  dragged = [event.offsetX - view.x, event.offsetY - view.y];
  canvas.setPointerCapture(event.pointerId);
});
canvas.addEventListener('pointerup', () => { dragged = null; });
canvas.addEventListener('pointermove', event => {
  if (dragged && event.buttons) {
    view.x = event.offsetX - dragged[0]; view.y = event.offsetY - dragged[1];
    draw();
  }
  tell(event.offsetX, event.offsetY);
});
canvas.addEventListener('pointerleave', () => tell(-1e9, -1e9));
canvas.addEventListener('dblclick', event => zoom(2.2, event.offsetX, event.offsetY));
addEventListener('keydown', event => {
  if (event.target.tagName === 'INPUT') return;
  const step = 90, keys = {'+': () => zoom(1.4), '=': () => zoom(1.4), '-': () => zoom(1 / 1.4), '0': fit,
    ArrowLeft: () => { view.x += step; draw(); }, ArrowRight: () => { view.x -= step; draw(); },
    ArrowUp: () => { view.y += step; draw(); }, ArrowDown: () => { view.y -= step; draw(); }};
  if (keys[event.key]) { keys[event.key](); event.preventDefault(); }
});
byId('in').onclick = () => zoom(1.5);
byId('out').onclick = () => zoom(1 / 1.5);
byId('fit').onclick = fit;
byId('address').addEventListener('change', event => {
  const address = parseInt(event.target.value.replace(/^0x/i, ''), 16);
  for (const region of regions) {
    const tile = Math.floor((address - region.base) / tileBytes);
    if (!(tile >= 0 && tile < region.tiles)) continue;
    view.scale = Math.max(view.scale, 30);
    view.x = canvas.clientWidth / 2 - (tile % columns + .5) * view.scale;
    view.y = canvas.clientHeight / 2 - (region.row + Math.floor(tile / columns) + .5) * view.scale;
    drawNow();
    tell(canvas.clientWidth / 2, canvas.clientHeight / 2);
    event.target.setCustomValidity('');
    return;
  }
  event.target.setCustomValidity('not an address of Talus');
  event.target.reportValidity();
});
