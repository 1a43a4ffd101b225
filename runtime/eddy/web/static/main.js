// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
// The page: logs in, asks for the overview once a second while it is seen, and draws what changed.

import { accounts, forgetAccounts } from "./accounts.js";
import * as api from "./api.js";
import { duration, element, table } from "./format.js";
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

const PERIOD_MS = 1000;
const at = (id) => document.getElementById(id);
let timer = 0, drawn = "", turned = null, answered = null;

function draw(state, market) {
  const width = at("timeline").clientWidth || 1000;
  const text = JSON.stringify([state, market, width, location.hash]);
  if (text === drawn) return;
  drawn = text;
  const focused = document.activeElement?.getAttribute("aria-label");
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
  at("link-slots").textContent = pool ? "Boards" : "Slots";
  at("kernel-section").hidden = !pool && !state.slots.some((slot) => slot.pool !== "pipeline");
  at("link-market").hidden = !market;
  at("link-leases").hidden = pool;
  for (const link of document.querySelectorAll("#pages .operators")) link.hidden = !state.operator || pool;
  if (pool) {
    at("boards").replaceChildren(boards(state));
  } else {
    at("timeline").replaceChildren(timeline(state, width));
    at("legend").replaceChildren(...legend(state));
    at("slots").replaceChildren(slots(state));
  }
  at("slots").parentElement.classList.toggle("wide", state.operator);
  at("operate-section").hidden = !state.operator;
  at("metrics").hidden = !state.operator;
  if (state.operator) {
    if (pool) drainedBoards(state);
    else policies(at("operate"), state, market, changed);
  }
  at("jobs").replaceChildren(list(state.jobs, state.operator, "Nothing runs or waits.", true));
  at("ended").replaceChildren(list(state.ended, state.operator, "No job has ended yet."));
  at("faults-section").hidden = pool || !state.operator;
  at("faults").replaceChildren(faults(state));
  at("tenants-section").hidden = !state.operator;
  at("tenants").replaceChildren(tenants(state));
  at("sessions-section").hidden = !state.sessions?.length;
  at("sessions").replaceChildren(sessions(state));
  at("market-section").hidden = !market;
  if (market) at("market").replaceChildren(...prices(market));
  // What was drawn again must not take the keyboard's place away.
  if (focused && document.activeElement === document.body) document.querySelector(`[aria-label="${CSS.escape(focused)}"]`)?.focus();
}

// What there is to do, in figures.
function work(state) {
  const waiting = state.counts.queued || 0, all = Object.values(state.counts).reduce((sum, count) => sum + count, 0);
  const busy = state.slots.filter((slot) => slot.phase === "running" || slot.phase === "loading").length;
  const boards = (state.boards || []).filter((board) => board.present), used = boards.filter((board) => board.jobs.length).length;
  const figures = [["Jobs that run", all - waiting], ["Jobs that wait", waiting],
    state.boards ? ["Boards in use", `${used} of ${boards.length}`] : ["Slots in use", `${busy} of ${state.slots.length}`],
    ["Failed of the last", `${state.ended.filter((job) => job.state === "failed").length} of ${state.ended.length}`]];
  return figures.map(([name, value]) => element("div", {}, element("dt", {}, name), element("dd", {}, String(value))));
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
    { title: "Kind", of: (board) => board.kind },
    { title: "State", of: boardState },
    { title: "Runs at once", number: true, of: (board) => String(board.width) },
    { title: "Link", number: true, of: (board) => rate(board.link_bps) },
    { title: "Jobs", of: (board) => board.jobs.join(", ") || "-" },
    ...(state.operator ? [
      { title: "Modules", of: (board) => board.modules.join(", ") || "-" },
      { title: "", of: (board) => drainBoardButton(board, changed) },
    ] : []),
  ], state.boards, "No board has joined yet.");
}

function slots(state) {
  return table("", [
    { title: "Slot", number: true, of: (slot) => String(slot.slot) },
    { title: "Pool", of: (slot) => slot.pool },
    { title: "Phase", of: stateOf },
    { title: "Since", number: true, of: (slot) => duration(state.now_s - slot.since_s) },
    { title: "Module", of: (slot) => slot.module || "-" },
    { title: "Tenant", of: (slot) => slot.tenant || "-" },
    { title: "Job, item", number: true, of: (slot) => [slot.job ?? "-", slot.item].filter((each) => each !== null).join(", ") },
    ...(state.operator ? [{ title: "", of: (slot) => drainButton(slot, changed) }] : []),
  ], state.slots, "The board has not answered yet.");
}

function faults(state) {
  const found = Object.entries(state.faults).sort();
  return table("", [
    { title: "Fault", of: ([code]) => code },
    { title: "Times", number: true, of: ([, count]) => String(count) },
  ], found, "None.");
}

function tenants(state) {
  const names = [...new Set(state.tenants.flatMap((entry) => Object.keys(entry.jobs)))].sort();
  return table("", [
    { title: "Tenant", of: (entry) => (entry.display_name ? `${entry.display_name} (${entry.tenant})` : entry.tenant) },
    ...names.map((name) => ({ title: name, number: true, of: (entry) => String(entry.jobs[name] || 0) })),
  ], state.tenants, "No tenant has a job under way.");
}

function sessions(state) {
  return table("", [
    { title: "Session", of: (each) => each.session },
    { title: "Tenant", of: (each) => each.tenant },
    { title: "State", of: (each) => each.state },
    { title: "Memory, MiB", number: true, of: (each) => String(Math.round(each.memory_bytes / 1048576)) },
    { title: "Buffers", number: true, of: (each) => String(each.buffers) },
    { title: "Queued", number: true, of: (each) => String(each.queued) },
    { title: "Launches", number: true, of: (each) => String(each.launches) },
    { title: "Core-seconds", number: true, of: (each) => each.core_seconds.toPrecision(3) },
  ], state.sessions || [], "No session is open.");
}

function prices(market) {
  const number = (value) => (value === null || value === undefined ? "-" : Number(value).toPrecision(3));
  const place = (each) => (each.board === undefined ? String(each.slot) : `${each.board}, ${each.slot}`);
  const mine = new Map((market.me?.shares || []).map((share) => [place(share), share]));
  const me = market.me || {};
  const shown = market.clusters.length || me.parallel_fraction !== null && me.parallel_fraction !== undefined;
  return [
    table(`Policy ${market.price_policy}, epoch ${market.epoch}`, [
      { title: market.me?.boards ? "Board, slot" : "Slot", number: true, of: place },
      { title: "Cluster", of: (cluster) => cluster.module || "-" },
      { title: "Cores", number: true, of: (cluster) => String(cluster.cores) },
      { title: "Price", number: true, of: (cluster) => number(cluster.price) },
      { title: "My cores", number: true, of: (cluster) => number(mine.get(place(cluster))?.pes) },
      { title: "Core-seconds", number: true, of: (cluster) => number(mine.get(place(cluster))?.core_seconds) },
    ], market.clusters, "No cluster is loaded."),
    shown ? element("p", { class: "quiet" }, `Weight ${number(me.weight)}; F ${number(me.parallel_fraction)}; speedup promised `
      + `${number(me.promised_speedup)}, modelled ${number(me.modelled_speedup)}, measured ${number(me.measured_speedup)}`) : "",
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
  const since = answered === null ? "" : ` since ${answered.toLocaleTimeString()}; what is shown is of then`;
  const text = `The server at ${location.host} does not answer${since}. This page goes on trying.`;
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
