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

// Source of the colours: Okabe and Ito, Color Universal Design, 2008, darkened where white letters would have less than 4.5 to 1.
export const COLOURS = ["#0072B2", "#B34A00", "#007A58", "#A8487D", "#7A5C00", "#5A52B8", "#1B7A8A"];
const known = new Map();

// A tenant's, by its name, so that it is the same on every page and for everyone who looks; while there are enough, no two have the same.
export function colour(tenant) {
  if (!known.has(tenant)) {
    let place = [...tenant].reduce((sum, letter) => (31 * sum + letter.codePointAt(0)) % 65_521, 0) % COLOURS.length;
    const taken = new Set(known.values());
    while (taken.size < COLOURS.length && taken.has(COLOURS[place])) place = (place + 1) % COLOURS.length;
    known.set(tenant, COLOURS[place]);
  }
  return known.get(tenant);
}

// A moment of the wall clock: today by its time, else with its day; the whole of it on being pointed at.
export function moment(unix_s) {
  if (unix_s === null || unix_s === undefined) return "-";
  const date = new Date(unix_s * 1000), today = date.toDateString() === new Date().toDateString();
  const text = date.toLocaleString([], today ? { timeStyle: "short" } : { month: "short", day: "numeric", hour: "numeric", minute: "2-digit" });
  return element("time", { datetime: date.toISOString(), title: date.toLocaleString() }, text);
}

// What is drawn again must not take the keyboard's place away.
export function redraw(place, ...content) {
  const focused = document.activeElement?.getAttribute("aria-label");
  place.replaceChildren(...content);
  if (focused && document.activeElement === document.body) place.querySelector(`[aria-label="${CSS.escape(focused)}"]`)?.focus();
}

// A button for what cannot be taken back: it is done when it is pressed a second time, within five seconds.
const asked = new Map();

export function confirmed(verb, name, act) {
  const isAsked = () => performance.now() < (asked.get(name) ?? 0);
  const made = element("button", { type: "button", class: "danger", onclick: () => {
    if (isAsked()) { asked.delete(name); act(); }
    else { asked.set(name, performance.now() + 5000); setTimeout(said, 5001); }
    said();
  } });
  const said = () => {
    made.textContent = isAsked() ? `${verb}, really?` : verb;
    made.setAttribute("aria-label", isAsked() ? `${verb}, really? ${name}` : name);
  };
  said();
  return made;
}

// Whether a text may have to be broken, wherever that is: a name without spaces is wider than a phone.
const isLong = (content) => typeof content === "string" && content.length > 24;

// On a phone a row is a card, in which each cell has its column's title unless it is `bare`; the roles say what it is all the same.
// A table with `narrow` is as wide as what is in it.
export function table(caption, columns, rows, empty, narrow = false) {
  if (!rows.length) return element("p", { class: "quiet" }, empty);
  const cell = (name, column, content, more) => element(name, { ...more, class: [column.number ? "number" : isLong(content) ? "long" : "", column.minor ? "minor" : "", name === "td" && content === "-" ? "none" : ""].filter(Boolean).join(" ") || null }, content);
  const head = columns.map((column) => cell("th", column, column.title, { scope: "col", role: "columnheader" }));
  const body = rows.map((row) => element("tr", { role: "row" }, ...columns.map((column, place) => cell("td", column, column.of(row),
    { role: "cell", "data-title": place && !column.bare && column.title || null }))));
  return element("table", { role: "table", class: narrow ? "narrow" : null }, caption ? element("caption", {}, caption) : null,
    element("thead", { role: "rowgroup" }, element("tr", { role: "row" }, ...head)), element("tbody", { role: "rowgroup" }, ...body));
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
