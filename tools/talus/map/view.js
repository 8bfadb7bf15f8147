// SPDX-License-Identifier: MIT
// The view of `talus map`: draws one tile for each slice, and one cell in it for each page.
// Owns: the layout, the colours by mode, zoom and hover. Must not know: how pieces were found.
'use strict';
const data = JSON.parse(document.getElementById('data').textContent);
const byId = id => document.getElementById(id);
const SIDE = 4, PER_TILE = SIDE * SIDE;  // pages of a slice
const KINDS = [
  ['slab', '--live', 'small blocks'], ['live', '--large', 'large block'],
  ['kept', '--kept', 'freed, kept by a thread'], ['range', '--range', 'free range'],
  ['untouched', '--untouched', 'untouched range'], ['metadata', '--metadata', 'metadata'],
  ['other', '--other', 'modes, providers, guards']];
const ABSENT = 0, OUTSIDE = 10;  // states of pages; 1 to 9: resident, with 0 to 8 eighths live
const MODES = {use: 'Use', class: 'Class', occupancy: 'Occupancy', residency: 'Residency'};

function size(bytes) {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
  let unit = 0;
  while (bytes >= 1023.95 && unit < 4) { bytes /= 1024; unit++; }
  return (unit ? bytes.toFixed(1) : bytes) + ' ' + units[unit];
}
const blockSize = (bytes, isShort) =>
  bytes % 1024 === 0 ? bytes / 1024 + (isShort ? 'K' : ' KiB') : bytes + (isShort ? '' : ' B');
const hex = address => '0x' + address.toString(16);
const count = number => number.toLocaleString('en-US');

// Regions: runs of pieces. Each page has its state and its piece.
const pageBytes = data.page_bytes, tileBytes = pageBytes * PER_TILE;
const pieces = [];
const regions = data.regions.map(given => {
  const begin = given.base, first = Math.floor(begin / tileBytes) * tileBytes;
  const lead = (begin - first) / pageBytes;
  let end = lead;
  for (const [, pages] of given.pieces) end += pages;
  const state = new Uint8Array(Math.ceil(end / PER_TILE) * PER_TILE).fill(OUTSIDE);
  let page = lead;
  for (const [, letter, times] of given.pages.matchAll(/([A-K])(\d*)/g)) {
    const next = page + (times === '' ? 1 : +times);
    state.fill(letter.charCodeAt(0) - 65, page, next);
    page = next;
  }
  const owner = new Int32Array(state.length).fill(-1);
  let at = lead;
  for (const row of given.pieces) {
    const [kind, pages, block = 0, blocks = 0, live = 0, waiting = 0, heap = 0] = row;
    if (kind >= 0) {
      pieces.push({kind, base: first + at * pageBytes, pages, block, blocks, live, waiting, heap,
        resident: 0});
      owner.fill(pieces.length - 1, at, at + pages);
    }
    at += pages;
  }
  const huge = new Uint8Array(state.length);
  for (let i = 0; i < state.length; i++) {
    if (state[i] !== ABSENT && state[i] !== OUTSIDE && owner[i] >= 0) {
      pieces[owner[i]].resident += pageBytes;
    }
  }
  return {base: first, state, owner, huge, tiles: state.length / PER_TILE};
});
for (const [from, blocks] of data.huge) {
  const to = from + blocks * data.huge_bytes;
  for (const region of regions) {
    const low = Math.max(0, (from - region.base) / pageBytes);
    const high = Math.min(region.state.length, (to - region.base) / pageBytes);
    if (high > low) region.huge.fill(1, low, high);
  }
}

// Classes.
const classes = new Map();
for (const piece of pieces) {
  if (piece.kind !== 0) continue;
  let row = classes.get(piece.block);
  if (!row) classes.set(piece.block, row = {block: piece.block, slabs: 0, live: 0, resident: 0, blocks: 0});
  row.slabs++; row.live += piece.live * piece.block; row.resident += piece.resident;
  row.blocks += piece.blocks * piece.block;
}
const classRows = [...classes.values()].sort((a, b) => b.resident - a.resident);
const bySize = [...classes.keys()].sort((a, b) => a - b);
const hueOf = new Map(bySize.map((block, i) => [block, 25 + 300 * i / Math.max(1, bySize.length - 1)]));

// Colours.
let mode = 'use', chosen = null;
function rgb(text) {
  const probe = rgb.canvas ??= new OffscreenCanvas(1, 1).getContext('2d', {willReadFrequently: true});
  probe.clearRect(0, 0, 1, 1);
  probe.fillStyle = text;
  probe.fillRect(0, 0, 1, 1);
  return probe.getImageData(0, 0, 1, 1).data;
}
const word = colour => (255 << 24) | (colour[2] << 16) | (colour[1] << 8) | colour[0];
const mix = (a, b, share) => [0, 1, 2].map(i => Math.round(a[i] + (b[i] - a[i]) * share));
let theme = {};
// Nine colours from the first by the second to the third.
const rampOf = ([low, middle, high]) => Array.from({length: 9}, (_, i) =>
  i < 4 ? mix(low, middle, i / 4) : mix(middle, high, (i - 4) / 4));
function readTheme() {
  const style = getComputedStyle(document.documentElement);
  const named = name => rgb(style.getPropertyValue(name).trim());
  const isDark = document.documentElement.classList.contains('dark');
  theme = {isDark, paper: named('--paper'), void: named('--void'), absent: named('--absent'),
    edge: style.getPropertyValue('--edge'), mark: style.getPropertyValue('--mark'),
    ink: style.getPropertyValue('--ink'), faint: style.getPropertyValue('--faint'),
    line: style.getPropertyValue('--line'), card: style.getPropertyValue('--card'),
    huge: named('--huge'), small: named('--small'), live: named('--live'), live0: named('--live0'),
    kinds: KINDS.map(([, name]) => named(name)),
    classes: new Map([...hueOf].map(([block, hue]) =>
      [block, rgb(`hsl(${hue} ${isDark ? '62% 60%' : '58% 47%'})`)])),
    ramp: rampOf((isDark ? ['#e0645f', '#d9a94a', '#2fa88f'] : ['#cf4a52', '#eab65a', '#1b8676'])
      .map(rgb))};
}
function colourOf(state, piece, isHuge) {
  if (!piece || state === OUTSIDE) return theme.paper;
  if (chosen !== null && !chosen(piece)) return mix(theme.paper, theme.absent, .8);
  const kind = theme.kinds[piece.kind];
  if (mode === 'residency') {
    return state === ABSENT ? theme.absent : isHuge ? theme.huge : theme.small;
  }
  if (mode === 'class') {
    const own = piece.kind === 0 ? theme.classes.get(piece.block) : theme.other ?? theme.kinds[6];
    if (state === ABSENT) return mix(theme.absent, own, .22);
    return piece.kind === 0 ? own : mix(own, theme.absent, .45);
  }
  if (mode === 'occupancy') {
    if (state === ABSENT) return theme.absent;
    return piece.kind === 5 || piece.kind === 6 ? mix(theme.kinds[6], theme.absent, .5)
                                                : theme.ramp[state - 1];
  }
  if (state === ABSENT) return mix(theme.absent, kind, .16);
  return piece.kind === 0 ? mix(theme.live0, theme.live, (state - 1) / 8) : kind;
}

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
  lines.push(data.pages_known ? `${size(piece.resident)} of ${size(whole)} resident` : size(whole));
  const address = found.region.base + found.page * pageBytes;
  const page = state === ABSENT ? 'not resident' :
    (data.pages_known ? (found.region.huge[found.page] ? 'resident, in a huge page' : 'resident') : 'unknown') +
    (piece.kind <= 1 ? `, ${state === 1 ? 'nothing' : state === 9 ? 'all' : 'about ' + (state - 1) + '/8'} live` : '');
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

// The side.
const css = colour => `rgb(${colour[0]},${colour[1]},${colour[2]})`;
function row(table, cells, key) {
  const line = table.insertRow();
  for (const cell of cells) line.insertCell().append(cell);
  if (key) {
    const box = document.createElement('span');
    box.className = 'key'; box.style.background = key;
    line.cells[0].prepend(box);
  }
  return line;
}
function pick(line, test) {
  line.className = 'pick';
  line.onclick = () => {
    const wasChosen = line.classList.contains('chosen');
    document.querySelectorAll('tr.chosen').forEach(one => one.classList.remove('chosen'));
    chosen = wasChosen ? null : test;
    if (!wasChosen) line.classList.add('chosen');
    paint();
  };
}
function legend() {
  const box = byId('legend');
  box.textContent = '';
  byId('legend-title').textContent = 'Colours: ' + MODES[mode].toLowerCase();
  const table = document.createElement('table');
  const ramp = (colours, low, high) => {
    const bar = document.createElement('div'), ends = document.createElement('div');
    bar.className = 'ramp'; ends.className = 'ends';
    bar.style.background = `linear-gradient(90deg, ${colours.map(css).join(',')})`;
    ends.innerHTML = `<span>${low}</span><span>${high}</span>`;
    box.append(bar, ends);
  };
  if (mode === 'use') {
    ramp([theme.live0, theme.live], 'page of a slab: nothing live', 'all live');
    KINDS.forEach(([, , label], kind) => {
      const own = pieces.filter(piece => piece.kind === kind);
      if (!own.length) return;
      const bytes = own.reduce((sum, piece) => sum + piece.resident, 0);
      pick(row(table, [label, size(bytes)], css(theme.kinds[kind])), piece => piece.kind === kind);
    });
  } else if (mode === 'class') {
    ramp(bySize.map(block => theme.classes.get(block)), blockSize(bySize[0] ?? 0), blockSize(bySize[bySize.length - 1] ?? 0));
    row(table, ['not a slab', ''], css(mix(theme.kinds[6], theme.absent, .45)));
  } else if (mode === 'occupancy') {
    ramp(theme.ramp, 'resident, nothing live', 'all live');
    row(table, ['metadata and others', ''], css(mix(theme.kinds[6], theme.absent, .5)));
  } else {
    const own = (test) => regions.reduce((sum, region) => {
      for (let i = 0; i < region.state.length; i++) {
        if (region.owner[i] >= 0 && test(region.state[i], region.huge[i])) sum += pageBytes;
      }
      return sum;
    }, 0);
    row(table, ['resident pages', size(own((state, huge) => state > 0 && !huge))], css(theme.small));
    row(table, ['in huge pages', size(own((state, huge) => state > 0 && huge))], css(theme.huge));
  }
  row(table, [mode === 'use' ? 'paler: not resident' : 'not resident', ''], css(theme.absent));
  box.append(table);
}
const PART_COLOURS = {in_use: '--live', free: '--range', own: '--metadata', not_ours: '--other'};
function side() {
  byId('title').textContent = `${data.program} · process ${data.process}`;
  document.title = `${data.program} ${data.process}: memory map`;
  byId('subtitle').textContent = `talus ${data.version} · ${data.time}` +
    (data.consistent ? '' : ' · changed during the look') + (data.pages_known ? '' : ' · pages not known');
  byId('all').textContent = `${data.pages_known ? 'Resident' : 'In use'}: ${size(data.total_bytes)}`;
  for (const {label, group, bytes} of data.groups) {
    const part = document.createElement('div');
    part.style.flexGrow = bytes / data.total_bytes;
    part.style.flexBasis = 0;
    part.style.background = `var(${PART_COLOURS[group]})`;
    part.title = `${label}: ${size(bytes)}`;
    byId('rss').append(part);
    const line = row(byId('parts'), [label, size(bytes), Math.round(100 * bytes / data.total_bytes) + ' %'],
      `var(${PART_COLOURS[group]})`);
    line.cells[0].style.paddingTop = '.3rem';
  }
  for (const one of classRows) {
    const bar = document.createElement('span'), filled = document.createElement('i');
    bar.className = 'bar'; bar.append(filled);
    filled.style.width = (one.blocks ? 100 * one.live / one.blocks : 0) + '%';
    bar.title = 'live share of its slabs';
    const line = row(byId('classes'), [blockSize(one.block), bar, `${count(one.slabs)} slab${one.slabs === 1 ? '' : 's'}`, size(one.resident)]);
    pick(line, piece => piece.kind === 0 && piece.block === one.block);
  }
}
for (const [name, label] of Object.entries(MODES)) {
  const button = document.createElement('button');
  button.textContent = label;
  button.onclick = () => {
    mode = name;
    document.querySelectorAll('#modes button').forEach(one => one.setAttribute('aria-pressed', one === button));
    legend(); paint();
  };
  button.setAttribute('aria-pressed', name === mode);
  byId('modes').append(button);
}
function setTheme(isDark) {
  document.documentElement.classList.toggle('dark', isDark);
  readTheme(); legend(); paint();
}
byId('theme').onclick = () => setTheme(!document.documentElement.classList.contains('dark'));
function resize() {
  const ratio = devicePixelRatio || 1;
  canvas.width = Math.round(canvas.clientWidth * ratio);
  canvas.height = Math.round(canvas.clientHeight * ratio);
  draw();
}
addEventListener('resize', resize);
side();
resize();
layOut();
fit();
setTheme(location.hash.includes('dark') || (!location.hash.includes('light') && matchMedia('(prefers-color-scheme: dark)').matches));
const asked = location.hash.match(/mode=(\w+)/);
if (asked) [...byId('modes').children].find(one => one.textContent === MODES[asked[1]])?.click();
const enlarged = location.hash.match(/zoom=([\d.]+)/);
if (enlarged) zoom(+enlarged[1], canvas.clientWidth * .3, canvas.clientHeight * .3);
const pointed = location.hash.match(/point=(\d+),(\d+)/);
if (pointed) requestAnimationFrame(() => tell(+pointed[1], +pointed[2]));
