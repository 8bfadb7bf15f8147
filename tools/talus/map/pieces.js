// SPDX-License-Identifier: MIT
// The data of `talus map`: regions of pieces, the state of each page, and sums by class.
// Owns: what is known of each page. Called first, after the kit.
// Must not know: colours, and where a page is drawn.

const SIDE = 4, PER_TILE = SIDE * SIDE;  // pages of a slice
const KINDS = [
  ['slab', '--live', 'small blocks'], ['live', '--large', 'large block'],
  ['kept', '--kept', 'freed, kept by a thread'], ['range', '--range', 'free range'],
  ['untouched', '--untouched', 'untouched range'], ['metadata', '--metadata', 'metadata'],
  ['other', '--other', 'modes, providers, guards'],
  ['samples', '--samples', 'area of sampled blocks']];
const ABSENT = 0, OUTSIDE = 10;  // states of pages; 1 to 9: resident, with 0 to 8 eighths live
const MODES = {use: 'Use', class: 'Class', occupancy: 'Occupancy', residency: 'Residency'};

const blockSize = (bytes, isShort) =>
  bytes % 1024 === 0 ? bytes / 1024 + (isShort ? 'K' : ' KiB') : bytes + (isShort ? '' : ' B');
const hex = address => '0x' + address.toString(16);

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
    const [, , samples = 0, room = 0] = kind === 7 ? row : [];
    if (kind >= 0) {
      pieces.push({kind, base: first + at * pageBytes, pages, block, blocks, live, waiting, heap,
        samples, room, resident: 0});
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
