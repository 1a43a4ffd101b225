// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
// Leases: when slots are held, one row a slot and wall time to the right, and what holders may change.

import * as api from "./api.js";
import { colour, confirmed, drawing, duration, element, moment, redraw, table } from "./format.js";

const ROW = 30, LEFT = 62, TOP = 6, AXIS = 22, HOUR_S = 3600, LETTER = 7.2;
const ASIDE = new Set(["ended", "cancelled"]), MAINTENANCE = "#6F7680";
const ORDER = ["active", "preparing", "queued"];
const at = (id) => document.getElementById(id);
const clock = (unix) => (unix === null ? "-" : new Date(unix * 1000).toLocaleString([], { dateStyle: "short", timeStyle: "short" }));

export async function leases(state, width) {
  at("leases-section").hidden = at("calendar-section").hidden = false;
  if (!at("lease-form").children.length) form(state);
  const [found, calendar] = await Promise.all([api.leases(), api.leaseCalendar()]);
  at("calendar").replaceChildren(picture(calendar, width), legend(calendar), element("p", { class: "quiet" },
    `At most ${calendar.most_at_once} of ${calendar.slots.length} slots are leased at once.${state.operator ? "" : " Of others, only the times are shown."}`));
  const shown = found.leases.filter((lease) => lease.state !== "ended" || lease.ended_unix_s > calendar.now_unix_s - 86_400).reverse();
  const rank = (lease) => (ORDER.includes(lease.state) ? ORDER.indexOf(lease.state) : ORDER.length);
  redraw(at("leases"), list(shown.sort((one, other) => rank(one) - rank(other)), state, width));
}

export function forgetLeases() {
  for (const id of ["leases", "calendar", "lease-form", "lease-said"]) at(id).replaceChildren();
  at("leases-section").hidden = at("calendar-section").hidden = true;
}

function form(state) {
  const field = (id, title, made) => element("p", {}, element("label", { for: id }, title), made);
  at("lease-form").replaceChildren(
    field("lease-module", "Module (optional)", element("input", { id: "lease-module", maxlength: 128 })),
    field("lease-minutes", "Minutes", element("input", { id: "lease-minutes", type: "number", min: 1, max: 10_080, value: 30, required: true })),
    element("button", { type: "submit" }, "Ask for a slot"));
  at("lease-form").onsubmit = (event) => {
    event.preventDefault();
    const body = { module: at("lease-module").value.trim(), lasts_s: 60 * Number(at("lease-minutes").value) };
    tried(() => api.askForLease(body), (lease) => `Lease ${lease.lease} was asked for. When it is active, \`eddy lease env ${lease.lease}\` prints what a shell needs.`, state);
  };
}

async function tried(change, words, state) {
  try {
    const done = await change();
    at("lease-said").className = "quiet";
    at("lease-said").textContent = words(done);
  } catch (problem) {
    at("lease-said").className = "bad";
    at("lease-said").textContent = problem.status ? problem.message : "The server does not answer.";
  }
  leases(state, at("calendar").clientWidth || 800).catch(() => {});
}

function list(found, state) {
  const button = (verb, lease, change, words) => element("button", {
    type: "button", "aria-label": `${verb}: lease ${lease.lease}`, onclick: () => tried(change, words, state),
  }, verb);
  const buttons = (lease) => (["queued", "preparing", "active"].includes(lease.state) ? element("span", {},
    button("Extend by 15 min", lease, () => api.extendLease(lease.lease, 900), () => `Lease ${lease.lease} lasts 15 minutes longer.`), " ",
    confirmed("Release", `Release lease ${lease.lease}`, () => tried(() => api.releaseLease(lease.lease), () => `Lease ${lease.lease} is released.`, state))) : "");
  return table("", [
    { title: "Lease", of: (lease) => lease.lease },
    { title: "State", bare: true, of: (lease) => (lease.position ? `${lease.state}, place ${lease.position}` : lease.state) },
    { title: "Tenant", bare: true, of: (lease) => lease.tenant },
    { title: "Slots", of: (lease) => lease.slots.join(", ") || "-" },
    { title: "Holds", minor: true, of: (lease) => Object.values(lease.holds).join(", ") || "-" },
    { title: "Begins", of: (lease) => (lease.begins_unix_s === null && lease.expected_unix_s !== null ? element("span", {}, "about ", moment(lease.expected_unix_s)) : moment(lease.begins_unix_s)) },
    { title: "Ends", of: (lease) => moment(lease.ended_unix_s ?? lease.ends_unix_s) },
    { title: "Unused for", minor: true, of: (lease) => (lease.state === "active" ? duration(lease.idle_s) : "-") },
    { title: "Why", of: (lease) => lease.cause || lease.notice || lease.said || "-" },
    { title: "", of: buttons },
  ], found, "No lease is open, and none ended today.");
}

function picture(calendar, width) {
  const now = calendar.now_unix_s, spans = calendar.spans.filter((span) => span.ends_unix_s > now - HOUR_S);
  const start = now - HOUR_S, end = Math.max(now + 6 * HOUR_S, ...spans.map((span) => span.ends_unix_s));
  const x = (unix) => LEFT + (Math.min(Math.max(unix, start), end) - start) * (width - LEFT) / (end - start);
  const rows = [...calendar.slots, null], height = TOP + ROW * rows.length + AXIS;
  const made = drawing("svg", { viewBox: `0 0 ${width} ${height}`, role: "img",
    "aria-label": `${spans.length} leases and maintenance windows on ${calendar.slots.length} slots` });
  rows.forEach((slot, row) => {
    const y = TOP + row * ROW, name = drawing("text", { x: 0, y: y + ROW / 2 + 4 });
    name.append(slot === null ? "queue" : `slot ${slot}`);
    made.append(drawing("rect", { class: "track", x: LEFT, y: y + 3, width: width - LEFT, height: ROW - 6 }), name);
    const here = spans.filter((span) => (slot === null ? !span.slots.length && !ASIDE.has(span.state) : span.slots.includes(slot)));
    here.forEach((span, place) => made.append(bar(span, x, y, here[place + 1]?.begins_unix_s ?? end)));
  });
  made.append(drawing("line", { class: "fault", x1: x(now), x2: x(now), y1: TOP, y2: height - AXIS }));
  const parts = width < 600 ? 2 : 6;
  for (let part = 0; part <= parts; part += 1) {
    const mark = drawing("text", { x: LEFT + part * (width - LEFT) / parts, y: height - 6, "text-anchor": part === 0 ? "start" : part === parts ? "end" : "middle" });
    mark.append(hour(start + part * (end - start) / parts, now));
    made.append(mark);
  }
  return made;
}

// An hour of another day says so.
function hour(unix, now) {
  const date = new Date(unix * 1000), today = date.toDateString() === new Date(now * 1000).toDateString();
  return date.toLocaleString([], today ? { timeStyle: "short" } : { weekday: "short", hour: "numeric", minute: "2-digit" });
}

const words = (span) => (span.kind === "maintenance" ? "maintenance" : span.tenant || "another tenant");
const fillOf = (span) => (span.kind === "maintenance" ? MAINTENANCE : span.tenant ? colour(span.tenant) : "#8A6D3B");

function legend(calendar) {
  const there = new Map(calendar.spans.map((span) => [words(span), fillOf(span)]));
  const entry = (fill, name) => element("span", {}, drawing("svg", { viewBox: "0 0 10 10", "aria-hidden": "true" }, drawing("rect", { width: 10, height: 10, rx: 2, fill })), name);
  return element("p", { class: "legend" }, ...[...there].map(([name, fill]) => entry(fill, name)), element("span", {}, "Pale: has ended. The red line is now."));
}

// A stretch, named where there is room before the next one.
function bar(span, x, y, next) {
  const from = x(span.begins_unix_s), wide = Math.max(x(span.ends_unix_s) - from, 2), name = words(span), made = drawing("g");
  const title = drawing("title");
  title.append(`${span.name || span.kind} ${span.tenant} ${span.state}: ${clock(span.begins_unix_s)} to ${clock(span.ends_unix_s)}`);
  made.append(title, drawing("rect", { x: from, y: y + 3, width: wide, height: ROW - 6, fill: fillOf(span), "fill-opacity": ASIDE.has(span.state) ? 0.35 : 1 }));
  if (Math.min(wide, x(next) - from) > 10 + LETTER * name.length && !ASIDE.has(span.state)) {
    const label = drawing("text", { class: "label", x: from + 5, y: y + ROW / 2 + 4 });
    label.append(name);
    made.append(label);
  }
  return made;
}
