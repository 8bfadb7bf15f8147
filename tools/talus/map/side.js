// SPDX-License-Identifier: MIT
// Owns: the column of sums and legends, the theme, and the begin of the page. Called last.
// Must not know: how a tile is drawn.

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
  turnDark(isDark);
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
setTheme(startsDark());
const asked = location.hash.match(/mode=(\w+)/);
if (asked) [...byId('modes').children].find(one => one.textContent === MODES[asked[1]])?.click();
const enlarged = location.hash.match(/zoom=([\d.]+)/);
if (enlarged) zoom(+enlarged[1], canvas.clientWidth * .3, canvas.clientHeight * .3);
const pointed = location.hash.match(/point=(\d+),(\d+)/);
if (pointed) requestAnimationFrame(() => tell(+pointed[1], +pointed[2]));
