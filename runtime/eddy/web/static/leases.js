// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
// Leases: when slots are held, one row a slot and wall time to the right, and what holders may change.

import * as api from "./api.js";
import { colour, drawing, duration, element, table } from "./format.js";

const ROW = 30, LEFT = 62, TOP = 6, AXIS = 22, HOUR_S = 3600;
const ASIDE = new Set(["ended", "cancelled"]);
const at = (id) => document.getElementById(id);
const clock = (unix) => (unix === null ? "-" : new Date(unix * 1000).toLocaleString([], { dateStyle: "short", timeStyle: "short" }));

export async function leases(state, width) {
  at("leases-section").hidden = at("calendar-section").hidden = false;
  if (!at("lease-form").children.length) form(state);
  const [found, calendar] = await Promise.all([api.leases(), api.leaseCalendar()]);
  at("calendar").replaceChildren(picture(calendar, width), element("p", { class: "quiet" },
    `At most ${calendar.most_at_once} of ${calendar.slots.length} slots are leased at once. Of others, only the times are shown.`));
  at("leases").replaceChildren(list(found.leases.filter((lease) => lease.state !== "ended" || lease.ended_unix_s > calendar.now_unix_s - 86_400).reverse(), state, width));
}

export function forgetLeases() {
  for (const id of ["leases", "calendar", "lease-form", "lease-said"]) at(id).replaceChildren();
  at("leases-section").hidden = at("calendar-section").hidden = true;
}

function form(state) {
  const field = (id, title, made) => element("p", {}, element("label", { for: id }, title), made);
  at("lease-form").replaceChildren(
    field("lease-module", "Module (may be empty)", element("input", { id: "lease-module", maxlength: 128 })),
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
    type: "button", "aria-label": `${verb} lease ${lease.lease}`, onclick: () => tried(change, words, state),
  }, verb);
  const buttons = (lease) => (["queued", "preparing", "active"].includes(lease.state) ? element("span", {},
    button("Extend", lease, () => api.extendLease(lease.lease, 900), () => `Lease ${lease.lease} lasts 15 minutes longer.`), " ",
    button("Release", lease, () => api.releaseLease(lease.lease), () => `Lease ${lease.lease} is released.`)) : "");
  return table("", [
    { title: "Lease", of: (lease) => lease.lease },
    { title: "State", of: (lease) => (lease.position ? `${lease.state}, place ${lease.position}` : lease.state) },
    { title: "Tenant", of: (lease) => lease.tenant },
    { title: "Slots", of: (lease) => lease.slots.join(", ") || "-" },
    { title: "Holds", minor: true, of: (lease) => Object.values(lease.holds).join(", ") || "-" },
    { title: "Begins", of: (lease) => clock(lease.begins_unix_s ?? lease.expected_unix_s) },
    { title: "Ends", of: (lease) => clock(lease.ended_unix_s ?? lease.ends_unix_s) },
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
    for (const span of here) made.append(bar(span, x, y));
  });
  made.append(drawing("line", { class: "fault", x1: x(now), x2: x(now), y1: TOP, y2: height - AXIS }));
  for (const part of [0, 0.5, 1]) {
    const mark = drawing("text", { x: LEFT + part * (width - LEFT), y: height - 6, "text-anchor": ["start", "middle", "end"][2 * part] });
    mark.append(new Date((start + part * (end - start)) * 1000).toLocaleTimeString([], { timeStyle: "short" }));
    made.append(mark);
  }
  return made;
}

function bar(span, x, y) {
  const from = x(span.begins_unix_s), fill = span.kind === "maintenance" ? "#7F6000" : span.tenant ? colour(span.tenant) : "#767676";
  const made = drawing("rect", { x: from, y: y + 3, width: Math.max(x(span.ends_unix_s) - from, 2), height: ROW - 6, fill,
    "fill-opacity": ASIDE.has(span.state) ? 0.35 : 1 });
  const title = drawing("title");
  title.append(`${span.name || span.kind} ${span.tenant} ${span.state}: ${clock(span.begins_unix_s)} to ${clock(span.ends_unix_s)}`);
  made.append(title);
  return made;
}
