// SPDX-License-Identifier: MIT
// What each page of the command needs: its data, numbers as text, and the theme. Called first.
// Owns: how a page finds its data, writes numbers and turns dark.
// Must not know: what the page shows.

'use strict';
const data = JSON.parse(document.getElementById('data').textContent);
const byId = id => document.getElementById(id);
function size(bytes) {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
  let unit = 0;
  while (Math.abs(bytes) >= 1023.95 && unit < 4) { bytes /= 1024; unit++; }
  return (unit ? bytes.toFixed(1) : Math.round(bytes)) + ' ' + units[unit];
}
const count = number => number.toLocaleString('en-US');
const startsDark = () => location.hash.includes('dark') ||
  (!location.hash.includes('light') && matchMedia('(prefers-color-scheme: dark)').matches);
function turnDark(isDark) { document.documentElement.classList.toggle('dark', isDark); }
