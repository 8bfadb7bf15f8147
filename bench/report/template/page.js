// SPDX-License-Identifier: MIT
// What the page does beyond showing: the colours' switch, the heat map's switch and order, the
// highlight of an allocator, and opening the section that a link leads to. Without it all is there.
"use strict";
(() => {
  const root = document.documentElement;
  const all = (selector, from = document) => [...from.querySelectorAll(selector)];
  const press = (buttons, chosen) => buttons.forEach(
    (button) => button.setAttribute("aria-pressed", String(button === chosen)));
  root.classList.add("has-script");

  // Colours. What was chosen is kept where the browser allows that.
  const themes = all("[data-theme-choice]");
  const kept = (value) => {
    try {
      if (value === undefined) return localStorage.getItem("bench-theme") || "";
      localStorage.setItem("bench-theme", value);
    } catch { /* a page from a file may have no storage */ }
    return value || "";
  };
  const paint = (theme) => {
    if (theme) root.dataset.theme = theme;
    else delete root.dataset.theme;
    press(themes, themes.find((button) => button.dataset.themeChoice === theme));
  };
  paint(kept());
  themes.forEach((button) => button.addEventListener("click", () => {
    paint(kept(button.dataset.themeChoice));
  }));

  // The heat map.
  const maps = all("[data-map-of]");
  const mapButtons = all("[data-map]");
  const show = (figure) => {
    maps.forEach((map) => map.classList.toggle("is-shown", map.dataset.mapOf === figure));
    press(mapButtons, mapButtons.find((button) => button.dataset.map === figure));
  };
  mapButtons.forEach((button) => button.addEventListener("click", () => show(button.dataset.map)));
  if (maps.length) show(maps[0].dataset.mapOf);

  const subjectColumn = (map) =>
    all("thead [data-sort]", map).findIndex((button) => button.closest("th.own")) - 2;
  const keys = (row, order, map) => {
    if (order === "number") return [Number(row.dataset.number)];
    const cells = all("td", row).slice(1);
    const ratio = (index) => Number(cells[index]?.dataset.ratio ?? NaN);
    if (order !== "rank") return [ratio(Number(order))];
    return [row.dataset.rank ? Number(row.dataset.rank) : NaN, ratio(subjectColumn(map))];
  };
  const compare = (one, other, sign) => {
    for (let at = 0; at < one.length; at += 1) {
      if (Number.isNaN(one[at]) !== Number.isNaN(other[at])) return Number.isNaN(one[at]) ? 1 : -1;
      if (one[at] !== other[at] && !Number.isNaN(one[at])) return sign * (one[at] - other[at]);
    }
    return 0;
  };
  const sortMap = (map, order, direction) => {
    const body = map.querySelector("tbody");
    const sign = direction === "ascending" ? 1 : -1;
    all("tr", body).map((row) => [row, keys(row, order, map)])
      .sort((one, other) => compare(one[1], other[1], sign))
      .forEach(([row]) => body.append(row));
    all("thead th", map).forEach((head) => {
      if (head.querySelector("[data-sort]")?.dataset.sort === order) {
        head.setAttribute("aria-sort", direction);
      } else head.removeAttribute("aria-sort");
    });
  };
  const orders = all(".controls [data-sort]");
  const sortAll = (order, direction) => {
    maps.forEach((map) => sortMap(map, order, direction));
    press(orders, orders.find((button) => button.dataset.sort === order));
  };
  orders.forEach((button) => button.addEventListener("click", () => {
    sortAll(button.dataset.sort, button.dataset.sort === "rank" ? "descending" : "ascending");
  }));
  all(".heat thead [data-sort]").forEach((button) => button.addEventListener("click", () => {
    const now = button.closest("th").getAttribute("aria-sort");
    const first = button.dataset.sort === "number" ? "ascending" : "descending";
    const second = first === "ascending" ? "descending" : "ascending";
    sortAll(button.dataset.sort, now === first ? second : first);
  }));

  // One allocator in all charts.
  const highlights = all("[data-highlight]");
  highlights.forEach((button) => button.addEventListener("click", () => {
    const isOff = button.getAttribute("aria-pressed") === "true";
    const name = isOff ? null : button.dataset.highlight;
    highlights.forEach((one) => one.setAttribute(
      "aria-pressed", String(one.dataset.highlight === name)));
    document.body.classList.toggle("is-highlighting", name !== null);
    all("[data-allocator]").forEach((mark) => mark.classList.toggle(
      "is-chosen", mark.dataset.allocator === name));
  }));

  // Sections.
  const sections = all("details.workload");
  all("[data-open-all]").forEach((button) => button.addEventListener("click", () => {
    sections.forEach((section) => { section.open = button.dataset.openAll === "open"; });
  }));
  const openTarget = () => {
    const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (target?.tagName === "DETAILS") {
      target.open = true;
      target.scrollIntoView();
      target.querySelector("summary").focus({ preventScroll: true });
    }
  };
  addEventListener("hashchange", openTarget);
  openTarget();
})();
