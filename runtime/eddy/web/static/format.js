// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
// Small pieces of the page: elements, durations, colours of tenants.

export function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else if (value !== undefined && value !== null && value !== false) made.setAttribute(key, value);
  }
  made.append(...children.filter((child) => child !== null && child !== undefined));
  return made;
}

export function drawing(name, attributes = {}, ...children) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

export function duration(seconds) {
  if (seconds === null || seconds === undefined) return "-";
  const size = Number(Math.abs(seconds).toPrecision(3)); // as it is shown: 999.99 us are 1.00 ms
  if (size === 0) return "0 s";
  if (size < 1e-3) return `${(seconds * 1e6).toPrecision(3)} us`;
  if (size < 1) return `${(seconds * 1e3).toPrecision(3)} ms`;
  if (size < 120) return `${seconds.toPrecision(3)} s`;
  return size < 7200 ? `${(seconds / 60).toFixed(1)} min` : `${(seconds / 3600).toFixed(1)} h`;
}

export function bytes(size) {
  let unit = 0;
  for (; size >= 1024 && unit < 4; unit += 1) size /= 1024;
  return `${Number(unit ? size.toPrecision(3) : size)} ${["B", "KiB", "MiB", "GiB", "TiB"][unit]}`;
}

// Source of the colours: Okabe and Ito, Color Universal Design, 2008; told apart also without colour vision.
const COLOURS = ["#0072B2", "#D55E00", "#009E73", "#A8487D", "#8F6B00", "#3277A8", "#7F6000"];
const known = new Map();

export function colour(tenant) {
  if (!known.has(tenant)) known.set(tenant, COLOURS[known.size % COLOURS.length]);
  return known.get(tenant);
}

// Whether a text may have to be broken, wherever that is: a name without spaces is wider than a phone.
const isLong = (content) => typeof content === "string" && content.length > 24;

export function table(caption, columns, rows, empty) {
  if (!rows.length) return element("p", { class: "quiet" }, empty);
  const cell = (name, column, content) => element(name, { class: [column.number ? "number" : isLong(content) ? "long" : "", column.minor ? "minor" : ""].join(" ").trim() || null }, content);
  const head = columns.map((column) => {
    const made = cell("th", column, column.title);
    made.setAttribute("scope", "col");
    return made;
  });
  const body = rows.map((row) => element("tr", {}, ...columns.map((column) => cell("td", column, column.of(row)))));
  return element("table", {}, caption ? element("caption", {}, caption) : null,
    element("thead", {}, element("tr", {}, ...head)), element("tbody", {}, ...body));
}

// A part of a whole as a bar; beyond four fifths in the colour of trouble.
export function share(name, part) {
  const width = Math.min(Math.max(part, 0), 1);
  const bar = drawing("rect", { class: part > 0.8 ? "much" : "some", width: 100 * width, height: 10 });
  return drawing("svg", { class: "share", viewBox: "0 0 100 10", preserveAspectRatio: "none", role: "img",
    "aria-label": `${name}: ${(100 * part).toFixed(0)} %` }, drawing("rect", { class: "track", width: 100, height: 10 }), bar);
}

// When something should happen, from now on in board time: the p50, and the p90 behind it.
export function expected(estimate, what) {
  if (!estimate || estimate[`${what}_p50_s`] === null) return "-";
  const [likely, late] = ["p50", "p90"].map((level) => Math.max(estimate[`${what}_${level}_s`] - estimate.at_s, 0));
  const age = estimate.age_s >= 5 ? `; estimated ${duration(estimate.age_s)} ago` : "";
  return element("span", { title: `half within ${duration(likely)}, nine in ten within ${duration(late)}${age}` }, `${duration(likely)} to ${duration(late)}`);
}
