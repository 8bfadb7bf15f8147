// SPDX-License-Identifier: MIT
// The table of sites, the head of the page, and what buttons and keys do.
// Owns: the order of the table. Called last.
// Must not know: how the flame graph is drawn.

const HEADS = [...MEASURES, 'Mean life', ...(hasTags ? ['Tag'] : []), 'Function'];
const LIFE = MEASURES.length, NAME = HEADS.length - 1, TAG = hasTags ? NAME - 1 : -1;
let column = 0, direction = -1;
function sortBy(chosen) {
  direction = chosen === column ? -direction : chosen === NAME || chosen === TAG ? 1 : -1;
  column = chosen;
  drawTable();
}
function drawTable() {
  const heads = byId('heads'), rows = byId('rows');
  heads.textContent = rows.textContent = '';
  HEADS.forEach((name, i) => {
    const head = document.createElement('th');
    head.textContent = name;
    if (i === NAME) head.className = 'name';
    if (i === column) head.setAttribute('aria-sort', direction < 0 ? 'descending' : 'ascending');
    head.onclick = () => sortBy(i);
    heads.append(head);
  });
  const key = row => column === NAME ? row.frame.name : column === TAG ? row.tag : column === LIFE ? lifeOf(row) : data.is_difference ? Math.abs(row.sum[column]) : row.sum[column];
  const shown = siteRows.filter(row => !wanted || matches(row.frame) || row.tag.toLowerCase().includes(wanted));
  shown.sort((a, b) => direction * (key(a) < key(b) ? -1 : key(a) > key(b) ? 1 : 0));
  for (const site of shown.slice(0, 500)) {
    const row = document.createElement('tr');
    site.sum.forEach((value, i) => {
      const cell = row.insertCell();
      cell.textContent = amount(value, i);
      if (data.is_difference && Math.round(value)) cell.className = value > 0 ? 'more' : 'less';
    });
    row.insertCell().textContent = duration(lifeOf(site));
    if (hasTags) row.insertCell().textContent = site.tag;
    const cell = row.insertCell(), place = document.createElement('span');
    cell.className = 'name';
    cell.append(site.frame.name + ' ', place);
    place.className = 'faint';
    place.textContent = fileOf(site.frame) + (site.callers.length ? ' < ' + site.callers.join(' < ') : '');
    row.onclick = () => { byId('search').value = site.frame.name; search(); };
    rows.append(row);
  }
}
function search() {
  wanted = byId('search').value.trim().toLowerCase();
  draw();
  drawTable();
}
function choose(chosen) {
  measure = chosen;
  [...byId('measures').children].forEach((button, i) => button.setAttribute('aria-pressed', i === chosen));
  column = chosen;
  direction = -1;
  draw();
  drawTable();
}
function fact(name, text) {
  const box = document.createElement('span'), value = document.createElement('b');
  box.className = 'faint';
  value.textContent = text;
  value.style.color = 'var(--ink)';
  box.append(value, name);
  byId('facts').append(box);
}
// Bytes that live now, by the time at which they were allocated: the sum of all up to then.
function curve() {
  const ages = data.ages.slice().sort((a, b) => b[0] - a[0]), all = ages.reduce((sum, one) => sum + one[1], 0);
  if (!all || ages.length < 2) return;
  const oldest = ages[0][0] || 1;
  let sum = 0, path = 'M0 40';
  for (const [age, bytes] of ages) {
    const x = (200 * (1 - age / oldest)).toFixed(1);
    path += `L${x} ${(40 - 38 * sum / all).toFixed(1)}`;
    sum += bytes;
    path += `L${x} ${(40 - 38 * sum / all).toFixed(1)}`;
  }
  const box = document.createElement('span');
  box.className = 'faint';
  box.innerHTML = `<svg id="curve" viewBox="0 0 200 40" preserveAspectRatio="none"><path d="${path}L200 2L200 40Z"/></svg>`;
  box.append(`live bytes by age: from ${oldest < 120 ? oldest.toFixed(1) + ' s' : Math.round(oldest / 60) + ' min'} ago to now`);
  byId('facts').append(box);
}
byId('title').textContent = data.title;
document.title = `${data.title}: heap profile`;
byId('subtitle').textContent = `a sample each ${size(data.mean_bytes)} · ${data.time}` +
  (data.lost ? ` · ${count(data.lost)} samples lost` : '');
MEASURES.forEach((name, i) => {
  fact(name.toLowerCase() + (data.span_s && (i === 2 || i === 3) && !data.is_difference ? ` in ${data.span_s} s` : ''), amount(root.sum[i], i));
  const button = document.createElement('button');
  button.textContent = name;
  button.onclick = () => choose(i);
  byId('measures').append(button);
});
if (data.live_bytes !== null) fact('live before the profile', size(Math.max(0, data.live_bytes - root.sum[0])));
curve();
byId('search').oninput = search;
byId('whole').onclick = () => zoomTo(root);
byId('theme').onclick = () => turnDark(!document.documentElement.classList.contains('dark'));
addEventListener('keydown', event => { if (event.key === 'Escape') zoomTo(root); });
addEventListener('resize', draw);
turnDark(startsDark());
const words = new URLSearchParams(location.hash.slice(1).replaceAll(',', '&'));
const first = HEADS.indexOf(data.first);
choose(+(words.get('measure') ?? (first < MEASURES.length ? first : 2)));
if (words.get('sort') || first === LIFE) sortBy(+(words.get('sort') ?? first));
if (words.get('search')) { byId('search').value = words.get('search'); search(); }
if (words.get('zoom')) [...flame.children].find(one => one.textContent === words.get('zoom'))?.click();
