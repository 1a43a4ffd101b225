// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
// Jobs: lists, and the life of one from arrival to result with every wait named.

import * as api from "./api.js";
import { confirmed, duration, element, expected, moment, table } from "./format.js";
import { lifeline, waitsFor } from "./lifeline.js";
import { LABEL, draw, sheet } from "./tiles.js";

const FINAL = new Set(["succeeded", "failed", "cancelled"]);

function state(job) {
  const kind = job.state === "failed" ? "bad" : job.state === "succeeded" ? "good" : null;
  return element("span", { class: kind, title: job.error ? job.error.message : null }, job.state + (job.error ? `: ${job.error.cause}` : ""));
}

// Lists differ in their last columns: what is to come, when a job was submitted, or when it ended.
const TIMES = [
  { title: "Waiting", minor: true, number: true, of: (job) => duration(job.waiting_s) },
  { title: "Running", minor: true, number: true, of: (job) => duration(job.running_s) },
  { title: "Response", number: true, of: (job) => duration(job.response_s) },
];
const LAST = {
  ahead: [
    TIMES[0],
    { title: "Place", number: true, of: (job) => String(job.estimate?.position ?? "-") },
    { title: "Starts in", number: true, minor: true, of: (job) => expected(job.estimate, "start") },
    { title: "Ends in", number: true, of: (job) => expected(job.estimate, "end") },
  ],
  submitted: [...TIMES, { title: "Submitted", number: true, of: (job) => moment(job.submitted_unix_s) }],
  ended: [...TIMES, { title: "Ended", number: true, of: (job) => moment(job.ended_unix_s) }],
};

export function list(jobs, operator, empty, last) {
  const open = (job) => element("a", { href: `#/jobs/${job.id}`, "aria-label": `Job ${job.id}` }, String(job.id));
  return table("", [
    { title: "Job", of: open },
    { title: "State", bare: true, of: state },
    ...(operator ? [{ title: "Tenant", bare: true, of: (job) => job.tenant }] : []),
    { title: "Application", bare: true, of: (job) => job.application },
    { title: "Priority", minor: true, number: true, of: (job) => String(job.priority) },
    { title: "Items", number: true, of: (job) => `${job.progress.done}/${job.progress.total}` },
    ...LAST[last],
  ], jobs, empty);
}

let source = null, opened = null, seen = [], pending = 0;

// The page of a job: as it is now, and its events as they come.
export async function show(id, refresh) {
  const title = document.getElementById("job-title"), events = document.getElementById("job-events");
  leave();
  opened = id;
  title.textContent = `Job ${id}`;
  title.focus();
  events.replaceChildren();
  seen = [];
  for (const part of ["job-body", "job-life", "job-more"]) document.getElementById(part).replaceChildren();
  try {
    await fill(id, refresh);
  } catch (problem) {
    if (opened === id) document.getElementById("job-body").replaceChildren(element("p", { class: "bad" }, problem.status ? problem.message : "The server does not answer."));
    if (problem.status) return;
  }
  if (opened !== id) return;
  source = new EventSource(`/v1/jobs/${id}/events`);
  const mine = source;
  // Where the browser gives up, the server does not know the last event any more: all of it, from what there is now.
  source.onerror = () => {
    if (mine.readyState !== EventSource.CLOSED || source !== mine) return;
    setTimeout(() => { if (source === mine) show(id, refresh); }, 1000);
  };
  const kinds = ["submitted", "state", "wait", "configure", "configured", "configuration_failed", "launch", "item_done",
    "item_failed", "result", "preempt", "release", "dropped", "retry", "recovered", "damaged", "part",
    "sent"];
  for (const kind of kinds) source.addEventListener(kind, (event) => {
    const data = JSON.parse(event.data);
    seen.push({ kind, data });
    events.append(entry(kind, data));
    if (!pending) pending = requestAnimationFrame(life);
  });
  source.addEventListener("end", () => { mine.close(); fill(id, refresh); });
}

// Its events as a picture; once for all that came together.
function life() {
  pending = 0;
  const place = document.getElementById("job-life"), last = seen.findLast(({ data }) => data.at_s !== undefined);
  if (opened !== null) place.replaceChildren(...lifeline(seen, place.clientWidth || 900, last?.data.at_s));
}

// Another page is shown.
export function leave() {
  source?.close();
  source = opened = null;
}

// Board time since it came, fine enough to tell two events apart.
const since = (seconds) => (seconds < 1 ? `${(seconds * 1e3).toFixed(3)} ms` : `${seconds.toFixed(6)} s`);
const SAID = {
  configure: "load begins", configured: "loaded", configuration_failed: "load failed", launch: "item begins", result: "output is kept", preempt: "slot is taken", release: "slot is given back",
};
// Nothing is loaded where the module is in the slot already.
const RESIDENT = { configure: "slot is given, with its module in it", configured: "ready without a load" };

function entry(kind, data) {
  const first = seen.find((each) => each.data.at_s !== undefined)?.data.at_s ?? 0;
  const where = ["slot", "task", "item", "board", "done"].filter((name) => data[name] !== undefined && data[name] !== "").map((name) => `${name} ${data[name]}`);
  const when = data.at_s !== undefined ? since(data.at_s - first) : data.at_unix_s ? new Date(data.at_unix_s * 1000).toLocaleTimeString() : "-";
  const known = kind === "wait" ? waitsFor(data.detail) : data.detail === "resident" ? RESIDENT[kind] : null;
  const what = known || (kind === "state" ? data.state : SAID[kind] || kind.replaceAll("_", " "));
  return element("li", {}, element("span", { class: "when" }, when), element("span", {}, [what, known ? "" : data.detail, ...where].filter(Boolean).join(", ")));
}

async function fill(id, refresh) {
  const job = await api.job(id);
  const parts = [...Object.entries(job.waiting).map(([cause, value]) => [waitsFor(cause), value]), ["is reconfigured", job.reconfiguring_s], ["runs", job.running_s]].filter(([, value]) => value > 0);
  const fact = (name, value) => (value === null || value === "" || value === "-" ? null : element("div", {}, element("dt", {}, name), element("dd", {}, value)));
  const body = [
    element("p", { class: "lead" }, state(job), `${job.doing && ` ${job.doing}`}, ${job.progress.done} of ${job.progress.total} items`),
    job.error ? element("p", { class: "bad" }, job.error.message) : "",
    element("dl", { class: "facts" }, ...[
      fact("Application", job.application), fact("Tenant", job.tenant), fact("Priority", String(job.priority)), fact("Submitted", moment(job.submitted_unix_s)),
      fact("Ended", moment(job.ended_unix_s)), fact("Response", duration(job.response_s)), fact("After jobs", (job.after || []).join(", ")),
      fact("Labels", Object.entries(job.labels || {}).map(([name, value]) => `${name}=${value}`).join(", ")),
    ].filter(Boolean)),
    Object.keys(job.outputs).length ? element("p", {}, ...Object.entries(job.outputs).flatMap(([name, path], place) => [
      place ? ", " : "Outputs: ", element("a", { href: path, download: `${id}-${name}.bin` }, name)])) : "",
    await pictures(job),
    FINAL.has(job.state) ? "" : confirmed("Cancel", "Cancel this job", async () => { await api.cancel(id); await fill(id, refresh); refresh(); }),
  ];
  const more = [
    element("h3", {}, "Where its time went"),
    await explanation(id),
    table("", [
      { title: "It", of: ([name]) => name },
      { title: "Board time", bare: true, number: true, of: ([, value]) => duration(value) },
    ], parts, "", true),
    counters(job.kernel),
  ];
  // Meanwhile another job may have been opened.
  if (opened !== id) return;
  document.getElementById("job-body").replaceChildren(...body);
  document.getElementById("job-more").replaceChildren(...more);
}

// Outputs that are pictures, as they are.
async function pictures(job) {
  const shown = element("div", { id: "job-pictures" });
  if (job.state !== "succeeded" || !job.computed) return shown;
  for (const [name, made] of await sheets(job)) {
    const canvas = element("canvas", { role: "img", "aria-label": `Output ${name}, ${made.across} by ${made.down} pixels` });
    const bytes = await api.output(job.outputs[name]).catch(() => null);
    if (bytes === null) continue;
    draw(canvas, bytes, made);
    shown.append(element("figure", {}, canvas, element("figcaption", {}, `${name}, ${made.across} x ${made.down}`)));
  }
  return shown;
}

async function sheets(job) {
  const known = job.kernel ? Object.entries(job.kernel.outputs).map(([name, each]) => [name, each.dtype, each.shape, 1])
    : ((await api.app(job.application).catch(() => null))?.buffers || []).filter((each) => ["output", "update"].includes(each.role) && each.picture)
      .map((each) => [each.name, each.dtype, each.shape, job.batch]);
  return known.filter(([name]) => job.outputs[name])
    .map(([name, dtype, shape, items]) => [name, sheet(dtype, shape, items, job.labels[LABEL])]).filter(([, made]) => made);
}

async function explanation(id) {
  const found = await api.explain(id).catch(() => null);
  if (!found) return "";
  const sentences = [...found.words, ...found.preempted.map((each) => each.words)];
  return element("ul", { id: "job-why" }, ...sentences.map((each) => element("li", {}, each)));
}

function counters(kernel) {
  if (!kernel || !kernel.counters) return "";
  const { cycles, instructions, cycle_thread: lanes } = kernel.counters, count = (value) => value.toLocaleString("en");
  return element("div", {}, element("h3", {}, "What its kernel did"),
    element("p", {}, `${kernel.name} on ${kernel.cluster}: ${count(cycles)} cycles, ${count(instructions)} instructions${kernel.parallel_fraction === null ? "" : `, parallel fraction F ${kernel.parallel_fraction.toFixed(4)}`}.`),
    table("", [
      { title: "Active lanes", of: ([, place]) => String(place + 1) },
      { title: "Cycles", bare: true, number: true, of: ([value]) => count(value) },
    ], lanes.map((value, place) => [value, place]), "", true));
}
