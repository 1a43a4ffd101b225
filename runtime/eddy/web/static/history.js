// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
// What the board did over hours: a picture each of slots, jobs, prices and temperature.

import * as api from "./api.js";
import { drawing, element } from "./format.js";

const SPANS = [[1, "1 hour"], [6, "6 hours"], [24, "1 day"], [168, "1 week"]];
const PERIOD_MS = 30_000, HEIGHT = 110, LEFT = 44, BOTTOM = 18, TOP = 8;
// Source of the colours: Okabe and Ito, Color Universal Design, 2008.
const COLOURS = ["#0072B2", "#D55E00", "#009E73", "#A8487D", "#8F6B00"];
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
  const wanted = [
    ["Slots in use", [["busy", (point) => point.busy]], points.at(-1).slots],
    ["Jobs", [["running", (point) => point.running], ["waiting", (point) => point.waiting]]],
    ["Jobs that ended", [["well", (point) => point.ended], ["otherwise", (point) => point.failed]]],
    ["Price of a core", slots.map((slot) => [`slot ${slot}`, (point) => point.prices[slot] ?? null])],
    ["Hottest sensor, degrees Celsius", [["degrees", (point) => point.celsius]]],
  ].filter(([, lines]) => lines.some(([, of]) => points.some((point) => of(point) !== null)));
  const each = wanted.length > 1 && width > 900 ? Math.floor(width / 2) - 12 : width;
  return wanted.map(([name, lines, most]) => figure(name, lines, points, each, most));
}

function figure(name, lines, points, width, most = 0) {
  const values = lines.flatMap(([, of]) => points.map(of)).filter((value) => value !== null);
  const high = Math.max(most, ...values) || 1, from = points[0].unix_s, until = points.at(-1).unix_s;
  const x = (time) => LEFT + (width - LEFT - 4) * (time - from) / Math.max(until - from, 1);
  const y = (value) => TOP + (HEIGHT - TOP - BOTTOM) * (1 - value / high);
  const now = lines.map(([line, of]) => `${line} ${said(of(points.at(-1)))}`).join(", ");
  const picture = drawing("svg", { viewBox: `0 0 ${width} ${HEIGHT}`, role: "img", "aria-label": `${name}, ${hours} h: now ${now}; up to ${said(Math.max(...values))}` },
    ...axis(high, from, until, x, y, width),
    ...lines.map(([, of], place) => drawing("path", { d: path(points, of, x, y), fill: "none", stroke: COLOURS[place % COLOURS.length], "stroke-width": 1.8 })));
  const key = lines.map(([line, of], place) => element("span", {}, drawing("svg", { viewBox: "0 0 10 10", "aria-hidden": "true" },
    drawing("rect", { width: 10, height: 10, rx: 2, fill: COLOURS[place % COLOURS.length] })), `${line} ${said(of(points.at(-1)))}`));
  return element("figure", {}, element("figcaption", {}, element("strong", {}, name), element("span", { class: "legend" }, ...key)), picture);
}

// A line, broken where no server ran: a gap of more than three times what usually lies between two points.
function path(points, of, x, y) {
  const usual = (points.at(-1).unix_s - points[0].unix_s) / (points.length - 1);
  let before = null, made = "";
  for (const point of points) {
    const value = of(point);
    if (value === null) { before = null; continue; }
    const joined = before !== null && point.unix_s - before <= 3 * Math.max(usual, 60);
    made += `${joined ? "L" : "M"}${x(point.unix_s).toFixed(1)} ${y(value).toFixed(1)}`;
    before = point.unix_s;
  }
  return made;
}

function axis(high, from, until, x, y, width) {
  const text = (content, at) => { const made = drawing("text", at); made.append(content); return made; };
  const time = (unix_s) => new Date(unix_s * 1000).toLocaleString([], hours > 24 ? { weekday: "short", hour: "2-digit", minute: "2-digit" } : { hour: "2-digit", minute: "2-digit" });
  return [
    drawing("rect", { class: "track", x: LEFT, y: TOP, width: width - LEFT - 4, height: HEIGHT - TOP - BOTTOM }),
    text(said(high), { x: LEFT - 5, y: TOP + 10, "text-anchor": "end" }),
    text("0", { x: LEFT - 5, y: y(0), "text-anchor": "end" }),
    text(time(from), { x: LEFT, y: HEIGHT - 4 }),
    text(time(until), { x: x(until), y: HEIGHT - 4, "text-anchor": "end" }),
  ];
}

function said(value) {
  if (value === null || value === undefined) return "-";
  return Number.isInteger(value) ? String(value) : value.toPrecision(3);
}
