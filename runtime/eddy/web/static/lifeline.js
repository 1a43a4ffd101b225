// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
// The life of a job as a picture, from its events: what it did or waited for, and below that each slot's loads and items.

import { drawing, duration, element } from "./format.js";

const ROW = 28, LEFT = 74, AXIS = 20, LETTER = 7.2;
const KINDS = {
  waiting: ["#9aa6b2", "waits"], reconfiguring: ["#c9a227", "is reconfigured"], running: ["#0072B2", "runs"], preempted: ["#B5651D", "was preempted"], draining: ["#A8487D", "drains"],
};
const STATES = { queued: "waiting", placed: "waiting", reconfiguring: "reconfiguring", running: "running", preempted: "preempted", draining: "draining" };
const FINAL = new Set(["succeeded", "failed", "cancelled"]);

const WAITS = {
  slot: "a slot", memory: "memory", dependency: "jobs that come before it", preempted: "its slots, which were taken", maintenance: "the end of a maintenance window",
};

// A wait by its cause, as a sentence without its subject.
export const waitsFor = (cause) => `waits for ${WAITS[cause] ?? cause}`;

// Stretches of a job: of its own, `{ kind, said, from, until }`, and by slot, `{ load, ok, said, from, until }`.
export function stretches(events, now) {
  const own = [], slots = new Map();
  let cause = "";
  const begin = (at, kind, said) => {
    const last = own.at(-1);
    if (last && last.until === null) last.until = at;
    if (kind) own.push({ kind, said, from: at, until: null });
  };
  for (const { kind, data } of events) {
    if (data.at_s === undefined) continue;
    if (kind === "submitted") begin(data.at_s, "waiting", waitsFor("slot"));
    else if (kind === "wait") {
      cause = data.detail || "";
      begin(data.at_s, cause === "preempted" ? "preempted" : "waiting", cause ? waitsFor(cause) : "waits");
    } else if (kind === "state") {
      const found = STATES[data.state];
      if (FINAL.has(data.state)) begin(data.at_s, null);
      else if (found && found !== own.at(-1)?.kind) begin(data.at_s, found, found === "waiting" ? (cause ? waitsFor(cause) : "waits") : KINDS[found][1]);
    } else if (data.slot !== undefined && data.started_s !== undefined) {
      if (!slots.has(data.slot)) slots.set(data.slot, []);
      const load = kind.startsWith("config");
      slots.get(data.slot).push({
        load, ok: !kind.endsWith("failed"), from: data.started_s, until: data.at_s,
        said: `slot ${data.slot}, task ${data.task}: ${load ? "load" : `item ${data.item}`}${kind.endsWith("failed") ? ", failed" : ""}`,
      });
    }
  }
  const last = own.at(-1);
  if (last && last.until === null) last.until = Math.max(now ?? last.from, last.from);
  return { own: joined(own.filter((each) => each.until > each.from)), slots: [...slots].sort(([one], [other]) => one - other) };
}

// Neighbours that say the same are one.
function joined(found) {
  const made = [];
  for (const each of found) {
    const before = made.at(-1);
    if (before?.said === each.said && before.until === each.from) before.until = each.until;
    else made.push(each);
  }
  return made;
}

export function lifeline(events, width, now) {
  const { own, slots } = stretches(events, now), every = [...own, ...slots.flatMap(([, found]) => found)];
  if (!every.length) return [];
  const from = Math.min(...every.map((each) => each.from)), until = Math.max(...every.map((each) => each.until));
  const scale = (width - LEFT) / Math.max(until - from, 1e-12), x = (time) => LEFT + (time - from) * scale;
  const height = ROW * (1 + slots.length) + AXIS, waits = own.filter((each) => each.kind === "waiting" || each.kind === "preempted");
  const picture = drawing("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", class: "lifeline",
    "aria-label": `${duration(until - from)} of board time since it came: ${own.map((each) => `${each.said} for ${duration(each.until - each.from)}`).join(", then ")}` });
  picture.append(...row(0, "the job", width, own.map((each) => ({ ...each, fill: KINDS[each.kind][0] })), x));
  slots.forEach(([slot, found], place) => picture.append(...row(ROW * (1 + place), `slot ${slot}`, width,
    found.map((each) => ({ ...each, fill: each.load ? KINDS.reconfiguring[0] : KINDS.running[0] })), x)));
  for (const [time, anchor] of [[from, "start"], [until, "end"]]) picture.append(text(duration(time - from), { x: x(time), y: height - 5, "text-anchor": anchor }));
  const key = [...new Set(own.map((each) => each.kind))].map((kind) => element("span", {}, drawing("svg", { viewBox: "0 0 10 10", "aria-hidden": "true" },
    drawing("rect", { width: 10, height: 10, rx: 2, fill: KINDS[kind][0] })), KINDS[kind][1]));
  const by = new Map();
  for (const each of waits) by.set(each.said, [...(by.get(each.said) || []), `${duration(each.until - each.from)} from ${duration(each.from - from)} on`]);
  const named = waits.length ? element("p", { class: "quiet" }, `It ${[...by].map(([said, times]) => `${said}: ${times.join(", ")}`).join("; ")}.`) : "";
  return [picture, element("p", { class: "legend" }, ...key), named];
}

function row(y, name, width, found, x) {
  const made = [text(name, { x: 0, y: y + ROW / 2 + 4 }), drawing("rect", { class: "track", x: LEFT, y: y + 3, width: width - LEFT, height: ROW - 6 })];
  for (const each of found) {
    const wide = Math.max(x(each.until) - x(each.from), 1), title = drawing("title");
    title.append(`${each.said}, ${duration(each.until - each.from)}`);
    made.push(drawing("rect", { x: x(each.from), y: y + 3, width: wide, height: ROW - 6, fill: each.fill, class: each.ok === false ? "fault" : "" }, title));
    if (each.kind && wide > 10 + LETTER * each.said.length) made.push(text(each.said, { class: each.kind === "waiting" || each.kind === "reconfiguring" ? "dark" : "label", x: x(each.from) + 5, y: y + ROW / 2 + 4 }));
  }
  return made;
}

function text(content, attributes) {
  const made = drawing("text", attributes);
  made.append(content);
  return made;
}
