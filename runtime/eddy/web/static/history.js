// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
// What the board did over hours: a picture each of slots, jobs, prices and temperature.

import * as api from "./api.js";
import { COLOURS, colour, drawing, element } from "./format.js";

const SPANS = [[1, "1 hour"], [6, "6 hours"], [24, "1 day"], [168, "1 week"]];
const PERIOD_MS = 30_000, HEIGHT = 120, LEFT = 40, BOTTOM = 18, TOP = 10, TENANTS = 6;
const at = (id) => document.getElementById(id);
let hours = 6, asked = 0;

export async function history(width) {
  if (performance.now() < asked) return;
  asked = performance.now() + PERIOD_MS;
  at("history-section").hidden = false;
  at("history-span").replaceChildren(...SPANS.map(([each, name]) => element("button", {
    type: "button", "aria-pressed": String(each === hours), onclick: () => { hours = each; asked = 0; history(width); },
  }, name)));
  try {
    const { points } = await api.history(hours, Math.min(Math.max(Math.round(width / 4), 60), 360));
    at("history").replaceChildren(...pictures(points, width));
  } catch {
    asked = 0; // the overview says what is wrong
  }
}

export function forgetHistory() {
  asked = 0;
  at("history-section").hidden = true;
}

function pictures(points, width) {
  if (points.length < 2) return [element("p", { class: "quiet" }, "The first two minutes have not been kept yet; a point is a minute.")];
  const slots = [...new Set(points.flatMap((point) => Object.keys(point.prices)))].sort();
  const had = (name) => points.reduce((sum, point) => sum + (point.shares[name] ?? 0), 0);
  const tenants = [...new Set(points.flatMap((point) => Object.keys(point.shares)))].sort((one, other) => had(other) - had(one)).slice(0, TENANTS).sort();
  const wanted = [
    ["Slots in use", [["busy", (point) => point.busy]], points.at(-1).slots],
    ["Jobs", [["running", (point) => point.running], ["waiting", (point) => point.waiting]]],
    [`Jobs that ended, every ${Math.max(Math.round(usual(points) / 60), 1)} min`, [["succeeded", (point) => point.ended], ["failed or cancelled", (point) => point.failed]]],
    ["Slots by tenant", tenants.map((name) => [name, (point) => (Object.keys(point.shares).length || point.busy === 0 ? point.shares[name] ?? 0 : null), colour(name)]), points.at(-1).slots],
    ["Price of a core", slots.map((slot) => [`slot ${slot}`, (point) => point.prices[slot] ?? null])],
    ["Hottest sensor, °C", [["now", (point) => point.celsius]]],
  ].filter(([, lines]) => lines.some(([, of]) => points.some((point) => of(point) !== null)));
  const each = wanted.length > 1 && width > 900 ? Math.floor(width / 2) - 12 : width;
  return wanted.map(([name, lines, most]) => figure(name, lines, points, each, most));
}

// Seconds that usually lie between two points.
const usual = (points) => (points.at(-1).unix_s - points[0].unix_s) / (points.length - 1);

// Where an axis begins and ends, and its step: 1, 2 or 5 times a power of ten, at most four of them.
function scaleOf(least, most) {
  const span = most - least || 1, power = 10 ** Math.floor(Math.log10(span / 4)), step = [1, 2, 5, 10].map((each) => each * power).find((each) => span / each <= 4);
  return { low: Math.floor(least / step + 1e-9) * step, high: Math.ceil(most / step - 1e-9) * step, step };
}

function figure(name, lines, points, width, most = 0) {
  const values = lines.flatMap(([, of]) => points.map(of)).filter((value) => value !== null);
  // A temperature is read by its changes, everything else from nothing on.
  const { low, high, step } = scaleOf(name.endsWith("°C") ? Math.min(...values) - 1 : 0, Math.max(most, ...values) || 1);
  const from = points[0].unix_s, until = points.at(-1).unix_s;
  const x = (time) => LEFT + (width - LEFT - 4) * (time - from) / Math.max(until - from, 1);
  const y = (value) => TOP + (HEIGHT - TOP - BOTTOM) * (1 - (value - low) / (high - low));
  const now = lines.map(([line, of]) => `${line} ${said(of(points.at(-1)))}`).join(", ");
  const picture = drawing("svg", { viewBox: `0 0 ${width} ${HEIGHT}`, role: "img", "aria-label": `${name}, ${hours} h: now ${now}; up to ${said(Math.max(...values))}` },
    ...axis({ low, high, step }, from, until, x, y, width),
    ...lines.map(([, of, fixed], place) => drawing("path", { d: path(points, of, x, y), fill: "none", stroke: fixed || COLOURS[place % COLOURS.length], "stroke-width": 1.8 })));
  const key = lines.map(([line, of, fixed], place) => element("span", {}, drawing("svg", { viewBox: "0 0 10 10", "aria-hidden": "true" },
    drawing("rect", { width: 10, height: 10, rx: 2, fill: fixed || COLOURS[place % COLOURS.length] })), `${line}: ${said(of(points.at(-1)))}`));
  return element("figure", {}, element("figcaption", {}, element("strong", {}, name), element("span", { class: "legend" }, ...key)), picture);
}

// A line, broken where no server ran: a gap of more than three times what usually lies between two points.
function path(points, of, x, y) {
  const gap = 3 * Math.max(usual(points), 60);
  let before = null, made = "";
  for (const point of points) {
    const value = of(point);
    if (value === null) { before = null; continue; }
    const joined = before !== null && point.unix_s - before <= gap;
    made += `${joined ? "L" : "M"}${x(point.unix_s).toFixed(1)} ${y(value).toFixed(1)}`;
    before = point.unix_s;
  }
  return made;
}

function axis({ low, high, step }, from, until, x, y, width) {
  const text = (content, at) => { const made = drawing("text", at); made.append(content); return made; };
  const time = (unix_s) => new Date(unix_s * 1000).toLocaleString([], hours > 24 ? { weekday: "short", hour: "2-digit", minute: "2-digit" } : { hour: "2-digit", minute: "2-digit" });
  return [
    drawing("rect", { class: "track", x: LEFT, y: TOP, width: width - LEFT - 4, height: HEIGHT - TOP - BOTTOM }),
    ...Array.from({ length: Math.round((high - low) / step) + 1 }, (_, place) => low + place * step).flatMap((value) => [
      drawing("line", { class: "grid", x1: LEFT, x2: width - 4, y1: y(value), y2: y(value) }),
      text(String(Number(value.toPrecision(6))), { x: LEFT - 6, y: y(value) + 4, "text-anchor": "end" })]),
    text(time(from), { x: LEFT, y: HEIGHT - 4 }),
    text(time(until), { x: x(until), y: HEIGHT - 4, "text-anchor": "end" }),
  ];
}

function said(value) {
  if (value === null || value === undefined) return "-";
  return Number.isInteger(value) ? String(value) : value.toPrecision(3);
}
