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
  const size = Math.abs(seconds);
  if (size === 0) return "0 s";
  if (size < 1e-3) return `${(seconds * 1e6).toPrecision(3)} µs`;
  if (size < 1) return `${(seconds * 1e3).toPrecision(3)} ms`;
  if (size < 120) return `${seconds.toPrecision(3)} s`;
  return size < 7200 ? `${(seconds / 60).toFixed(1)} min` : `${(seconds / 3600).toFixed(1)} h`;
}

// Source of the colours: Okabe and Ito, Color Universal Design, 2008; told apart also without colour vision.
const COLOURS = ["#0072B2", "#D55E00", "#009E73", "#A8487D", "#8F6B00", "#3277A8", "#7F6000"];
const known = new Map();

export function colour(tenant) {
  if (!known.has(tenant)) known.set(tenant, COLOURS[known.size % COLOURS.length]);
  return known.get(tenant);
}

export function table(caption, columns, rows, empty) {
  if (!rows.length) return element("p", { class: "quiet" }, empty);
  const cell = (name, column, ...content) => element(name, { class: column.number ? "number" : null }, ...content);
  const head = columns.map((column) => {
    const made = cell("th", column, column.title);
    made.setAttribute("scope", "col");
    return made;
  });
  const body = rows.map((row) => element("tr", {}, ...columns.map((column) => cell("td", column, column.of(row)))));
  return element("table", {}, caption ? element("caption", {}, caption) : null,
    element("thead", {}, element("tr", {}, ...head)), element("tbody", {}, ...body));
}
