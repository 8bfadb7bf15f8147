// SPDX-License-Identifier: MIT
// The data of `talus profile`: a tree of calls, and sums by the functions that allocate.
// Owns: both, for all measures, and how long freed blocks lived. Called after the kit.
// Must not know: how they are drawn.

const MEASURES = ['Live bytes', 'Live blocks', 'Allocated bytes', 'Allocated blocks', 'Peak bytes', 'Peak blocks',
  ...(data.has_pins ? ['Pinned bytes', 'Purgeable bytes'] : [])];
const COLUMN = [3, 2, 1, 0, 5, 4, 6, 7].slice(0, MEASURES.length);  // of each in the data, which has pprof's order
const isBytes = measure => MEASURES[measure].endsWith('bytes');
const frames = data.frames.map(([name, file, line]) => ({name, file, line}));
const zeros = () => MEASURES.map(() => 0);

// `sum`: with its sign, `size`: what it takes in the picture. They differ in a difference only.
const newNode = (frame, parent) =>
  ({frame, parent, depth: parent ? parent.depth + 1 : 0, sum: zeros(), size: zeros(), freed: 0, lived: 0, inner: new Map()});
const root = newNode(null, null);
const sites = new Map();
for (const [stack, , ...values] of data.stacks) {
  const measures = COLUMN.map(column => values[column]);
  let node = root;
  const [freed, lived, tag] = values.slice(MEASURES.length);
  const addLife = at => { at.freed += freed; at.lived += lived; };
  const add = at => {
    addLife(at);
    measures.forEach((value, i) => { at.sum[i] += value; at.size[i] += Math.abs(value); });
  };
  add(node);
  for (const place of stack) {
    let next = node.inner.get(place);
    if (!next) node.inner.set(place, next = newNode(frames[place], node));
    add(node = next);
  }
  const inner = stack.slice(-4).reverse(), key = tag + ':' + inner.slice(0, 3).join();
  let site = sites.get(key);
  if (!site) {
    sites.set(key, site = {frame: frames[inner[0]] ?? {name: '(no frame)', file: '', line: 0},
      tag: data.tags[tag], sum: zeros(), freed: 0, lived: 0, callers: inner.slice(1).map(place => frames[place].name)});
  }
  measures.forEach((value, i) => { site.sum[i] += value; });
  addLife(site);
}
const hasTags = data.tags.some(tag => tag);
const siteRows = [...sites.values()].filter(site => site.sum.some(value => Math.round(value)));
const amount = (value, measure) => {
  const text = isBytes(measure) ? size(value) : count(Math.round(value));
  return data.is_difference && value > 0 ? '+' + text : text;
};
// The mean life of freed blocks, in seconds; -1: none was freed.
const lifeOf = at => at.freed > 0 ? at.lived / at.freed : -1;
const duration = s => s < 0 ? '-' : s < 1e-6 ? `${Math.round(s * 1e9)} ns` : s < 1e-3 ? `${Math.round(s * 1e6)} µs` : s < 1 ? `${(s * 1e3).toFixed(1)} ms` :
  s < 120 ? `${s.toFixed(1)} s` : s < 7200 ? `${(s / 60).toFixed(1)} min` : `${(s / 3600).toFixed(1)} h`;
const fileOf = frame => frame.file ? frame.file.split('/').pop() + (frame.line ? ':' + frame.line : '') : '';
