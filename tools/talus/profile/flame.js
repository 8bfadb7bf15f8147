// SPDX-License-Identifier: MIT
// The flame graph: callers above, what they call below; a width is a share of the measure.
// Owns: which part of the tree is shown, and what the search marks.
// Must not know: the table.

const ROW = 19;  // pixels
let measure = 0, focus = root, wanted = '';
const flame = byId('flame');
const hash = text => [...text].reduce((sum, letter) => (sum * 31 + letter.charCodeAt(0)) >>> 0, 7);
function colourOf(node) {
  if (!node.frame) return 'var(--absent)';
  if (data.is_difference) {
    const share = node.size[measure] ? node.sum[measure] / node.size[measure] : 0;
    return `hsl(${share > 0 ? 6 : 214} ${Math.round(85 * Math.abs(share))}% ${Math.round(88 - 24 * Math.abs(share))}%)`;
  }
  const number = hash(node.frame.name.split(/[<(]/)[0]);
  return `hsl(${18 + number % 36} ${70 + number % 20}% ${62 + number % 9}%)`;
}
const matches = frame => wanted !== '' && frame !== null &&
  (frame.name.toLowerCase().includes(wanted) || frame.file.toLowerCase().includes(wanted));
// What the found functions hold. One within another does not count twice.
function found(node) {
  if (matches(node.frame)) return node.sum[measure];
  return [...node.inner.values()].reduce((sum, inner) => sum + found(inner), 0);
}
function box(node, left, width, className) {
  const element = document.createElement('div');
  element.style.cssText = `left:${left.toFixed(2)}px;width:${width.toFixed(2)}px;top:${node.depth * ROW}px;background:${colourOf(node)}`;
  element.className = className + (matches(node.frame) ? ' found' : '');
  if (width > 26) element.textContent = node.frame ? node.frame.name : 'all';
  if (width > 26) element.tabIndex = 0;
  element.setAttribute('role', 'treeitem');
  element.onclick = () => zoomTo(node);
  element.onkeydown = event => { if (event.key === 'Enter') zoomTo(node); };
  element.onmousemove = event => tell(node, event);
  element.onmouseleave = () => { byId('tip').style.visibility = 'hidden'; };
  flame.append(element);
}
function draw() {
  flame.textContent = '';
  const whole = flame.clientWidth - 2, scale = focus.size[measure] ? whole / focus.size[measure] : 0;
  for (let above = focus.parent; above; above = above.parent) box(above, 0, whole, 'above');
  const level = [[focus, 0]];
  while (level.length) {
    const [node, left] = level.pop();
    const width = node === focus ? whole : node.size[measure] * scale;
    if (width < 1) continue;
    box(node, left, width, '');
    let at = left;
    for (const inner of [...node.inner.values()].sort((a, b) => b.size[measure] - a.size[measure])) {
      level.push([inner, at]);
      at += inner.size[measure] * scale;
    }
  }
  byId('hits').textContent = wanted ? `${amount(found(root), measure)} found` : '';
}
function zoomTo(node) {
  focus = node;
  draw();
}
function tell(node, event) {
  const tip = byId('tip'), frame = node.frame;
  tip.textContent = '';
  const line = (text, isFaint) => {
    const one = document.createElement('div');
    one.textContent = text;
    if (isFaint) one.className = 'faint';
    tip.append(one);
  };
  line(frame ? frame.name : 'all');
  if (frame?.file) line(frame.file + (frame.line ? ':' + frame.line : ''), true);
  MEASURES.forEach((name, i) => {
    const share = root.size[i] && !data.is_difference ? ` (${(100 * node.sum[i] / root.sum[i]).toFixed(1)} %)` : '';
    line(`${name.toLowerCase()}: ${amount(node.sum[i], i)}${share}`, i !== measure);
  });
  if (node.freed > 0) line(`freed blocks lived ${duration(lifeOf(node))} on average`, true);
  tip.style.visibility = 'visible';
  tip.style.left = Math.min(event.clientX + 14, innerWidth - tip.offsetWidth - 8) + 'px';
  tip.style.top = Math.min(event.clientY + 16, innerHeight - tip.offsetHeight - 8) + 'px';
}
