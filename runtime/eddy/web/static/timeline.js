// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
// What the slots did: one row a slot, board time to the right, as the demonstration's picture.

import { colour, drawing, duration, element } from "./format.js";
import { wordOf } from "./operate.js";

const ROW = 34, LEFT = 62, TOP = 6, AXIS = 22, LETTER = 7.2;

// As wide as its place: on a phone it is as much time in fewer pixels.
export function timeline(state, width) {
  const spans = state.spans;
  const end = Math.max(state.now_s, ...spans.map((span) => span.end_s), 0);
  const start = spans.length ? Math.min(...spans.map((span) => span.start_s)) : 0;
  const scale = (width - LEFT) / Math.max(end - start, 1e-9);
  const height = TOP + ROW * state.slots.length + AXIS;
  const x = (time) => LEFT + (time - start) * scale;
  const picture = drawing("svg", {
    viewBox: `0 0 ${width} ${height}`, role: "img",
    "aria-label": `${spans.length} loads and items in ${state.slots.length} slots over ${duration(end - start)} of board time`,
  }, hatch());
  state.slots.forEach((slot, row) => {
    const y = TOP + row * ROW;
    picture.append(drawing("rect", { class: "track", x: LEFT, y: y + 3, width: width - LEFT, height: ROW - 6 }));
    const name = drawing("text", { x: 0, y: y + ROW / 2 + 4 });
    name.append(`slot ${slot.slot}`);
    picture.append(name);
    for (const span of spans.filter((entry) => entry.slot === slot.slot)) picture.append(...bar(span, x, y, scale));
    if (slot.phase === "running" || slot.phase === "loading") picture.append(now(slot, x, y, end));
    if (slot.drained || slot.leased || slot.phase === "faulted") picture.append(closed(slot, width, y));
  });
  if (end > start) picture.append(...ticks(start, end, x, TOP + ROW * state.slots.length, width < 600 ? 2 : 4));
  return picture;
}

function bar(span, x, y, scale) {
  const width = Math.max((span.end_s - span.start_s) * scale, 1);
  const made = drawing("rect", {
    x: x(span.start_s), y: y + 3, width, height: ROW - 6, fill: colour(span.tenant),
    "fill-opacity": span.kind === "load" ? 0.35 : 1, class: span.ok ? "" : "fault",
  });
  const what = span.kind === "load" ? "load" : `item ${span.item}`;
  const title = drawing("title");
  title.append(`${span.tenant}, job ${span.job}, task ${span.task}: ${what}, ${duration(span.end_s - span.start_s)}`
    + (span.ok ? "" : ", failed"));
  made.append(title);
  const parts = [made];
  if (span.kind === "load") parts.push(drawing("rect", { x: x(span.start_s), y: y + 3, width, height: ROW - 6, fill: "url(#hatch)" }));
  const words = `job ${span.job}`;
  if (span.kind === "item" && width > 8 + LETTER * words.length) {
    const label = drawing("text", { class: "label", x: x(span.start_s) + 4, y: y + ROW / 2 + 4 });
    label.append(words);
    parts.push(label);
  }
  return parts;
}

function now(slot, x, y, end) {
  const begin = Math.min(slot.since_s, end);
  return drawing("rect", {
    x: x(begin), y: y + 3, width: Math.max(x(end) - x(begin), 2), height: ROW - 6,
    fill: slot.tenant ? colour(slot.tenant) : "#888", "fill-opacity": 0.6,
  });
}

// Why nothing of jobs is in a slot, at the end of its row.
function closed(slot, width, y) {
  const words = `${wordOf(slot)}${slot.leased && slot.tenant ? ` to ${slot.tenant}` : ""}`, wide = 16 + 6.2 * words.length;
  const made = drawing("g", { class: slot.leased && !slot.drained ? "closed" : "closed trouble" }, drawing("rect", { x: width - wide - 4, y: y + 7, width: wide, height: ROW - 14, rx: 4 }));
  const text = drawing("text", { x: width - 11, y: y + ROW / 2 + 4, "text-anchor": "end" });
  text.append(words);
  made.append(text);
  return made;
}

function hatch() {
  const lines = drawing("path", { d: "M0 6 L6 0", "stroke-width": 1 });
  return drawing("defs", {}, drawing("pattern", { id: "hatch", width: 6, height: 6, patternUnits: "userSpaceOnUse" }, lines));
}

function ticks(start, end, x, y, parts) {
  const made = [];
  for (let part = 0; part <= parts; part += 1) {
    const time = start + (end - start) * part / parts;
    const text = drawing("text", { x: x(time), y: y + 15, "text-anchor": part === 0 ? "start" : part === parts ? "end" : "middle" });
    text.append(duration(time));
    made.push(text);
  }
  return made;
}

export function legend(state) {
  const tenants = [...new Set(state.spans.map((span) => span.tenant))].sort();
  const entries = tenants.map((tenant) => element("span", {}, drawing("svg", { viewBox: "0 0 10 10", "aria-hidden": "true" },
    drawing("rect", { width: 10, height: 10, rx: 2, fill: colour(tenant) })), tenant));
  return entries.length ? [...entries, element("span", {}, "Pale and hatched: a slot is loaded. Outlined: a fault. The axis is board time.")] : [];
}
