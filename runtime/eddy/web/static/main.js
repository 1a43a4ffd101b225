// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
// The page: logs in, asks for the overview once a second while it is seen, and draws what changed.

import { accounts, forgetAccounts } from "./accounts.js";
import * as api from "./api.js";
import { bytes, duration, element, redraw, table } from "./format.js";
import { forgetHistory, history } from "./history.js";
import { forgetList, jobList } from "./joblist.js";
import { leave, list, show } from "./jobs.js";
import { offerKernel, withdrawKernel } from "./kernel.js";
import { forgetLeases, leases } from "./leases.js";
import { announce, forgetAnnouncement } from "./maintenance.js";
import { boardState, drainBoardButton, drainButton, drainedBoards, forget, policies, stateOf } from "./operate.js";
import { address, named, turn } from "./router.js";
import { offer, withdraw } from "./submit.js";
import { forgetTenants, keys, manage } from "./tenants.js";
import { legend, timeline } from "./timeline.js";

const PERIOD_MS = 1000, SHOWN = 10;
const at = (id) => document.getElementById(id);
let timer = 0, drawn = "", turned = null, answered = null;

function draw(state, market) {
  const width = at("timeline").clientWidth || 1000;
  const text = JSON.stringify([state, market, width, location.hash]);
  if (text === drawn) return;
  drawn = text;
  at("status").className = state.ready ? "" : "bad";
  at("status").textContent = state.ready
    ? `${state.boards ? "up for" : "board time"} ${duration(state.now_s)}, policy ${state.policy}` : `Not ready: ${state.detail}`;
  named(state.board || (state.boards ? "pool" : ""));
  at("work").replaceChildren(...work(state));
  at("viewer").textContent = state.operator && state.viewer !== "operator" ? `${state.viewer} (operator)` : state.viewer;
  // A head of a pool has boards, whose slots, policies and accounts are their own matter.
  const pool = Array.isArray(state.boards);
  at("timeline-section").hidden = at("slots-section").hidden = at("usage-section").hidden = pool;
  at("boards-section").hidden = !pool;
  const gpu = pool ? [] : state.slots.filter((slot) => slot.pool !== "pipeline");
  at("kernel-section").hidden = !pool && !gpu.length;
  at("clusters-section").hidden = at("kernels-section").hidden = at("link-clusters").hidden = !gpu.length;
  at("link-slots").hidden = at("link-leases").hidden = pool;
  at("link-pool").hidden = !pool;
  at("link-market").hidden = !market;
  // What a server of this kind, or a key of this kind, has no page for.
  const absent = [...(pool ? ["slots", "leases"] : ["pool"]), ...(gpu.length ? [] : ["clusters"]), ...(market ? [] : ["market"]), ...(state.operator && !pool ? [] : ["tenants", "audit"])];
  const { page } = address();
  at("nothing").classList.toggle("off", page !== "nothing" && !absent.includes(page));
  for (const link of document.querySelectorAll("#pages .operators")) link.hidden = !state.operator || pool;
  if (pool) {
    redraw(at("boards"), boards(state));
  } else {
    at("timeline").replaceChildren(timeline(state, width));
    at("legend").replaceChildren(...legend(state));
    redraw(at("slots"), slots(state));
    redraw(at("clusters"), clusters(state, gpu, market));
    redraw(at("kernels"), list(state.jobs.filter((job) => job.kernel), state.operator, "No kernel runs or waits.", "ahead"));
  }
  at("operate-section").hidden = !state.operator;
  at("metrics").hidden = !state.operator;
  if (state.operator) {
    if (pool) drainedBoards(state);
    else policies(at("operate"), state, market, changed);
  }
  redraw(at("jobs"), list(state.jobs.slice(0, SHOWN), state.operator, "Nothing runs or waits.", "ahead"));
  at("jobs-more").replaceChildren(...others(state));
  redraw(at("ended"), list(state.ended, state.operator, "No job has ended yet.", "ended"));
  at("faults-section").hidden = pool || !state.operator;
  at("faults").replaceChildren(faults(state));
  at("tenants-section").hidden = !state.operator;
  at("tenants").replaceChildren(tenants(state));
  at("sessions-section").hidden = !state.sessions?.length;
  at("sessions").replaceChildren(sessions(state));
  at("market-section").hidden = !market;
  if (market) at("market").replaceChildren(...prices(market));
}

const underWay = (state) => Object.values(state.counts).reduce((sum, count) => sum + count, 0);

// What there is to do, in figures, and what each is made of.
function work(state) {
  const waiting = state.counts.queued || 0, begun = Object.entries(state.counts).filter(([name, count]) => name !== "queued" && count);
  const boards = state.boards || [], here = boards.filter((board) => board.present), failed = state.ended.filter((job) => job.state === "failed").length;
  const parts = (found) => found.filter(([, count]) => count).map(([name, count]) => `${count} ${name}`).join(", ");
  const counted = (all, wanted) => all.filter(wanted).length;
  const places = state.boards
    ? ["Boards in use", `${counted(here, (board) => board.jobs.length)} of ${boards.length}`,
      parts([["away", boards.length - here.length], ["drained", counted(here, (board) => board.drained)]])]
    : ["Slots in use", `${counted(state.slots, (slot) => slot.phase === "running" || slot.phase === "loading")} of ${state.slots.length}`,
      parts([["drained", counted(state.slots, (slot) => slot.drained)], ["leased", counted(state.slots, (slot) => slot.leased && !slot.drained)],
        ["faulted", counted(state.slots, (slot) => slot.phase === "faulted" && !slot.drained)]])];
  const figures = [["Jobs begun", String(underWay(state) - waiting), parts(begun)], ["Jobs in the queue", String(waiting), ""], places,
    [`Failed, of the last ${state.ended.length}`, state.ended.length ? element("a", { href: "#/jobs?state=failed", "aria-label": `${failed} failed: show failed jobs` }, String(failed)) : "-", ""]];
  return figures.map(([name, value, made]) => element("div", {}, element("dt", {}, name), element("dd", {}, value), made ? element("dd", { class: "part" }, made) : null));
}

// Jobs that there is no room for.
function others(state) {
  const all = underWay(state), shown = Math.min(state.jobs.length, SHOWN);
  return all > shown ? [`${shown} of ${all.toLocaleString("en")}: those that have begun first. `, element("a", { href: "#/jobs?state=queued&sort=oldest" }, "All in the queue")] : [];
}

// Once for each page that is turned to, and each time it is asked for again.
function open(state) {
  if (location.hash === turned) return;
  turned = location.hash;
  const { page, job } = address(), board = !Array.isArray(state.boards);
  leave();
  if (page === "job") show(job, refresh);
  else if (page === "submit") { offer(); offerKernel(); }
  else if (page === "tenants" && state.operator && board) manage().catch(() => { turned = null; });
  else if (page === "account" && board) keys(state).catch(() => { turned = null; });
  if (page === "account" || page === "audit") forgetAccounts();
}

function boards(state) {
  const rate = (bps) => (bps ? `${(bps / 1e6).toPrecision(3)} Mbit/s` : "-");
  return table("", [
    { title: "Board", of: (board) => board.board },
    { title: "State", bare: true, of: boardState },
    { title: "Kind", bare: true, of: (board) => board.kind },
    { title: "Runs at once", number: true, of: (board) => String(board.width) },
    { title: "Link", number: true, of: (board) => rate(board.link_bps) },
    { title: "Jobs", of: (board) => jobLinks(board.jobs) },
    ...(state.operator ? [
      { title: "Modules", of: (board) => board.modules.join(", ") || "-" },
      { title: "", of: (board) => drainBoardButton(board, changed) },
    ] : []),
  ], state.boards, "No board has joined yet.");
}

function slots(state) {
  return table("", [
    { title: "Slot", of: (slot) => `slot ${slot.slot}` },
    { title: "State", bare: true, of: stateOf },
    { title: "Pool", bare: true, of: (slot) => slot.pool },
    { title: "Since", number: true, of: (slot) => duration(state.now_s - slot.since_s) },
    { title: "Module", of: (slot) => slot.module || "-" },
    { title: "Tenant", of: (slot) => slot.tenant || "-" },
    { title: "Job", of: (slot) => jobLinks(slot.job === null ? [] : [slot.job]) },
    { title: "Item", minor: true, number: true, of: (slot) => String(slot.item ?? "-") },
    ...(state.operator ? [{ title: "", of: (slot) => drainButton(slot, changed) }] : []),
  ], state.slots, "The board has not answered yet.");
}

// What is in each slot for kernels, and what its cores cost.
function clusters(state, gpu, market) {
  const priced = new Map((market?.clusters || []).map((each) => [each.slot, each]));
  const mine = new Map((market?.me?.shares || []).map((share) => [share.slot, share]));
  return table("", [
    { title: "Slot", of: (slot) => `slot ${slot.slot}` },
    { title: "State", bare: true, of: stateOf },
    { title: "Cluster", bare: true, of: (slot) => slot.module || "not loaded yet" },
    { title: "Since", number: true, of: (slot) => duration(state.now_s - slot.since_s) },
    { title: "Cores", number: true, of: (slot) => figure(priced.get(slot.slot)?.cores) },
    { title: "Price of a core", number: true, of: (slot) => figure(priced.get(slot.slot)?.price) },
    ...(mine.size ? [{ title: "Your cores", number: true, of: (slot) => figure(mine.get(slot.slot)?.pes) }] : []),
    ...(state.operator ? [{ title: "", of: (slot) => drainButton(slot, changed) }] : []),
  ], gpu, "");
}

// Links to jobs, by their numbers.
function jobLinks(jobs) {
  return jobs.length ? element("span", {}, ...jobs.flatMap((job, place) => [place ? ", " : "", element("a", { href: `#/jobs/${job}` }, String(job))])) : "-";
}

function faults(state) {
  const found = Object.entries(state.faults).sort();
  return table("", [
    { title: "Fault", of: ([code]) => code },
    { title: "Times", number: true, of: ([, count]) => count.toLocaleString("en") },
  ], found, "None.", true);
}

const ORDER = ["queued", "placed", "reconfiguring", "running", "preempted", "draining"];

function tenants(state) {
  const there = new Set(state.tenants.flatMap((entry) => Object.keys(entry.jobs))), names = ORDER.filter((name) => there.has(name));
  return table("", [
    { title: "Tenant", of: (entry) => (entry.display_name ? `${entry.display_name} (${entry.tenant})` : entry.tenant) },
    ...names.map((name) => ({ title: name[0].toUpperCase() + name.slice(1), number: true, of: (entry) => String(entry.jobs[name] || 0) })),
  ], state.tenants, "No tenant has a job under way.");
}

function sessions(state) {
  return table("", [
    { title: "Session", of: (each) => each.session },
    { title: "Tenant", of: (each) => each.tenant },
    { title: "State", bare: true, of: (each) => each.state },
    { title: "Memory", number: true, of: (each) => bytes(each.memory_bytes) },
    { title: "Buffers", number: true, of: (each) => String(each.buffers) },
    { title: "Queued", number: true, of: (each) => String(each.queued) },
    { title: "Launches", number: true, of: (each) => String(each.launches) },
    { title: "Core-seconds", number: true, of: (each) => each.core_seconds.toPrecision(3) },
  ], state.sessions || [], "No session is open.");
}

const figure = (value) => (value === null || value === undefined ? "-" : String(Number(Number(value).toPrecision(3))));

function prices(market) {
  const place = (each) => (each.board === undefined ? `slot ${each.slot}` : `${each.board}, slot ${each.slot}`);
  const me = market.me || {}, mine = new Map((me.shares || []).map((share) => [place(share), share]));
  const figures = [["Your weight", me.weight], ["Your parallel fraction F", me.parallel_fraction], ["Speedup promised", me.promised_speedup || null],
    ["Speedup modelled", me.modelled_speedup], ["Speedup measured", me.measured_speedup]].filter(([, value]) => value !== null && value !== undefined);
  return [
    element("div", { class: "table" }, table(`Policy ${market.price_policy}, epoch ${market.epoch.toLocaleString("en")}`, [
      { title: me.boards ? "Board, slot" : "Slot", of: place },
      { title: "Cluster", bare: true, of: (cluster) => cluster.module || "-" },
      { title: "Cores", number: true, of: (cluster) => String(cluster.cores) },
      { title: "Price of a core", number: true, of: (cluster) => figure(cluster.price) },
      { title: "Your cores", number: true, of: (cluster) => figure(mine.get(place(cluster))?.pes) },
      { title: "Your core-seconds", number: true, of: (cluster) => figure(mine.get(place(cluster))?.core_seconds) },
    ], market.clusters, "No cluster is loaded.")),
    element("dl", { class: "facts" }, ...figures.map(([name, value]) => element("div", {}, element("dt", {}, name), element("dd", {}, figure(value))))),
  ];
}

// What somebody changed here is in the accounts, too.
function changed() {
  forgetAccounts();
  return refresh();
}

async function refresh() {
  clearTimeout(timer);
  try {
    const [state, market] = await Promise.all([api.overview(), api.market()]);
    back();
    draw(state, market);
    open(state);
    const { page } = address();
    if (page === "account" || page === "audit") accounts(state);
    if (page === "jobs") jobList(state);
    if (page === "leases" && !state.boards) leases(state, at("calendar").clientWidth || at("main").clientWidth - 34).catch(() => {});
    if (page === "overview" && state.operator && !state.boards) history(at("history").clientWidth || at("main").clientWidth - 34);
    announce(at("maintenance")).catch(() => {});
  } catch (problem) {
    if (problem.status === 401) return logIn();
    if (problem.status) {
      at("status").className = "bad";
      at("status").textContent = problem.message;
    } else gone();
    drawn = "";
  }
  if (!document.hidden) timer = setTimeout(refresh, PERIOD_MS);
}

// The server does not answer: what is shown stays, and says of when it is.
function gone() {
  const silent = answered === null ? "does not answer" : `has not answered since ${answered.toLocaleTimeString()}; what is shown is of then`;
  const text = `The server at ${location.host} ${silent}. This page goes on trying.`;
  if (at("away").textContent !== text) at("away").textContent = text;
  at("away").hidden = false;
}

function back() {
  answered = new Date();
  at("away").hidden = true;
  at("away").textContent = "";
}

function logIn() {
  clearTimeout(timer);
  leave();
  forgetHistory();
  forgetList();
  forgetTenants();
  forgetLeases();
  withdrawKernel();
  turned = null;
  at("away").hidden = true;
  at("log-in").hidden = false;
  at("board").hidden = at("who").hidden = at("pages").hidden = true;
  forget();
  forgetAccounts();
  forgetAnnouncement(at("maintenance"));
  withdraw();
  at("status").className = "";
  at("status").textContent = "Not logged in";
  at("key").focus();
  api.signOn().then(({ provider }) => {
    at("sign-on").hidden = !provider;
    at("provider").textContent = provider;
  }, () => {});
}

function logged() {
  at("log-in").hidden = true;
  at("board").hidden = at("who").hidden = at("pages").hidden = false;
  drawn = "";
  turn();
  refresh();
}

at("log-in").addEventListener("submit", async (event) => {
  event.preventDefault();
  const key = at("key").value.trim();
  at("key").value = "";
  at("log-in-problem").textContent = "";
  try {
    await api.logIn(key);
    logged();
  } catch (problem) {
    at("log-in-problem").textContent = problem.status ? problem.message : "The server does not answer.";
  }
});
at("log-out").addEventListener("click", async () => { await api.logOut(); logIn(); });
window.addEventListener("hashchange", () => {
  turn();
  window.scrollTo(0, 0);
  if (!at("board").hidden) refresh();
});
document.addEventListener("visibilitychange", () => { if (!document.hidden && !at("board").hidden) refresh(); });
named("");
turn();
api.resume().then(logged, logIn);
