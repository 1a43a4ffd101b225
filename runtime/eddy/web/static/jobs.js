// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
// Jobs: lists, and the life of one from arrival to result with every wait named.

import * as api from "./api.js";
import { duration, element, expected, table } from "./format.js";
import { lifeline } from "./lifeline.js";
import { LABEL, draw, sheet } from "./tiles.js";

const FINAL = new Set(["succeeded", "failed", "cancelled"]);

function state(job) {
  const kind = job.state === "failed" ? "bad" : job.state === "succeeded" ? "good" : null;
  return element("span", { class: kind, title: job.error ? job.error.message : null }, job.state + (job.error ? `: ${job.error.cause}` : ""));
}

export function list(jobs, operator, empty, ahead = false) {
  const open = (job) => element("a", { href: `#/jobs/${job.id}`, "aria-label": `Job ${job.id}` }, String(job.id));
  return table("", [
    { title: "Job", of: open },
    { title: "State", of: state },
    ...(operator ? [{ title: "Tenant", of: (job) => job.tenant }] : []),
    { title: "Application", of: (job) => job.application },
    { title: "Priority", minor: true, number: true, of: (job) => String(job.priority) },
    { title: "Items", number: true, of: (job) => `${job.progress.done}/${job.progress.total}` },
    { title: "Waiting", minor: true, number: true, of: (job) => duration(job.waiting_s) },
    { title: "Reconfiguring", minor: true, number: true, of: (job) => duration(job.reconfiguring_s) },
    { title: "Running", minor: true, number: true, of: (job) => duration(job.running_s) },
    ...(ahead ? [
      { title: "Place", number: true, of: (job) => String(job.estimate?.position ?? "-") },
      { title: "Starts in", number: true, of: (job) => expected(job.estimate, "start") },
      { title: "Ends in", number: true, of: (job) => expected(job.estimate, "end") },
    ] : [{ title: "Response", number: true, of: (job) => duration(job.response_s) }]),
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
  document.getElementById("job-body").replaceChildren();
  document.getElementById("job-life").replaceChildren();
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

function entry(kind, data) {
  const where = ["slot", "task", "item", "board", "done"].filter((name) => data[name] !== undefined && data[name] !== "").map((name) => `${name} ${data[name]}`);
  const when = data.at_s !== undefined ? duration(data.at_s) : data.at_unix_s ? new Date(data.at_unix_s * 1000).toLocaleTimeString() : "-";
  return element("li", {}, `${when}: ${kind.replaceAll("_", " ")} ${[data.state, data.detail, ...where].filter(Boolean).join(", ")}`);
}

async function fill(id, refresh) {
  const job = await api.job(id);
  const waits = Object.entries(job.waiting).map(([cause, value]) => [`waiting for ${cause === "preempted" ? "its slots, which were taken" : cause}`, value]);
  const parts = [...waits, ["reconfiguring", job.reconfiguring_s], ["running", job.running_s]].filter(([, value]) => value > 0);
  const content = [
    element("p", {}, `${job.application}, tenant ${job.tenant}, priority ${job.priority}: `, state(job),
      `${job.doing && ` ${job.doing}`}, ${job.progress.done} of ${job.progress.total} items`),
    job.error ? element("p", { class: "bad" }, job.error.message) : "",
    table("Where its time went", [
      { title: "What", of: ([name]) => name },
      { title: "Board time", number: true, of: ([, value]) => duration(value) },
    ], parts, "Nothing has happened yet."),
    await explanation(id),
    counters(job.kernel),
    element("p", {}, ...Object.entries(job.outputs).flatMap(([name, path], place) => [
      place ? ", " : "Outputs: ", element("a", { href: path, download: `${id}-${name}.bin` }, name)])),
    await pictures(job),
    FINAL.has(job.state) ? "" : element("button", { type: "button", onclick: async () => { await api.cancel(id); await fill(id, refresh); refresh(); } }, "Cancel this job"),
  ];
  // Meanwhile another job may have been opened.
  if (opened === id) document.getElementById("job-body").replaceChildren(...content);
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
    : ((await api.app(job.application).catch(() => null))?.buffers || []).filter((each) => ["output", "update"].includes(each.role))
      .map((each) => [each.name, each.dtype, each.shape, job.batch]);
  return known.filter(([name]) => job.outputs[name])
    .map(([name, dtype, shape, items]) => [name, sheet(dtype, shape, items, job.labels[LABEL])]).filter(([, made]) => made);
}

async function explanation(id) {
  const found = await api.explain(id).catch(() => null);
  if (!found) return "";
  const sentences = [...found.words, ...found.preempted.map((each) => each.words)];
  return element("div", {}, element("h3", {}, "Why"), element("ul", { id: "job-why" }, ...sentences.map((each) => element("li", {}, each))));
}

function counters(kernel) {
  if (!kernel || !kernel.counters) return "";
  const fraction = kernel.parallel_fraction === null ? "" : `, parallel fraction F ${kernel.parallel_fraction.toFixed(4)}`;
  return element("p", {}, `Kernel ${kernel.name} on ${kernel.cluster}: ${kernel.counters.cycles} cycles, `
    + `${kernel.counters.instructions} instructions${fraction}; cycles by active lanes: ${kernel.counters.cycle_thread.join(", ")}`);
}
