// SPDX-License-Identifier: MIT
// Owns: the colour of a page, in each mode and theme.
// Must not know: where a page is drawn.

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
