// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
// What was had, what may be had, and who changed what: asked for every ten seconds, and drawn where it changed.

import * as api from "./api.js";
import { bytes, duration, element, moment, share, table } from "./format.js";

const PERIOD_MS = 10_000, DAYS = 7, ENTRIES = 100;
const at = (id) => document.getElementById(id);
let asked = 0, drawn = "";

export async function accounts(state) {
  if (performance.now() < asked) return;
  asked = performance.now() + PERIOD_MS;
  try {
    // A head of a pool has a quota; usage and audit log are its boards'.
    const here = !state.boards;
    const found = await Promise.all([here ? api.usage(DAYS) : null, api.quota(), here && state.operator ? api.audit(ENTRIES) : null]);
    const text = JSON.stringify(found);
    if (text === drawn) return;
    drawn = text;
    draw(state, ...found);
  } catch {
    asked = 0; // the overview says what is wrong
  }
}

export function forgetAccounts() {
  asked = 0;
  drawn = "";
}

function draw(state, used, may, log) {
  if (used) at("usage").replaceChildren(usage(state, used));
  at("quota").replaceChildren(quota(may));
  at("audit-section").hidden = !log;
  if (log) at("audit").replaceChildren(audit(log.entries));
}

function usage(state, used) {
  const seconds = (ns) => duration(ns / 1e9);
  return table(`Board time by day (UTC), the last ${DAYS} days`, [
    { title: "Day", of: (entry) => entry.day },
    ...(state.operator ? [{ title: "Tenant", of: (entry) => entry.tenant || "no tenant" }] : []),
    { title: "Slots", number: true, of: (entry) => seconds(entry.slot_ns) },
    ...(state.operator ? [{ title: "Shared slots", number: true, of: (entry) => seconds(entry.shared_ns) }] : []),
    { title: "Cores", number: true, of: (entry) => seconds(entry.core_ns) },
  ], [...used.entries].reverse(), "Nothing was used yet.");
}

function quota(may) {
  const each = (count) => count.toLocaleString("en"), limits = may.quota;
  const rows = [
    ["Jobs under way", may.jobs, limits.max_jobs, each],
    ["Blobs", may.blob_bytes, limits.max_blob_bytes, bytes],
    ["Slots today", may.slot_s, limits.max_slot_s, duration],
    ["Cores today", may.core_s, limits.max_core_s, duration],
  ].filter(([, used]) => used !== null);
  const rate = limits.max_requests_per_s === null ? "any number of" : String(limits.max_requests_per_s);
  return element("div", {}, table(`Of ${may.tenant}`, [
    { title: "What", of: ([name]) => name },
    { title: "Used", number: true, of: ([, used, , said]) => said(used) },
    { title: "Of", number: true, of: ([, , most, said]) => (most === null ? "any" : said(most)) },
    { title: "Part", of: ([name, used, most]) => (most ? share(name, used / most) : "") },
  ], rows, ""), element("p", { class: "quiet" }, `Priorities up to ${limits.max_priority}; ${rate} requests a second; weight ${may.weight}.`));
}

// A fact of an entry for people: moments by the clock, lengths and sizes with their units.
const UNITS = [["_unix_s", (unix_s) => new Date(unix_s * 1000).toLocaleString([], { dateStyle: "medium", timeStyle: "short" })], ["_bytes", bytes], ["_s", duration]];

function fact(name, value) {
  const [ending, said] = (typeof value === "number" && UNITS.find(([each]) => name.endsWith(each))) || ["", plain];
  return `${name.slice(0, name.length - ending.length).replaceAll("_", " ")}: ${said(value)}`;
}

function plain(value) {
  if (typeof value === "boolean") return value ? "yes" : "no";
  if (Array.isArray(value)) return value.map(plain).join(", ") || "-";
  if (value !== null && typeof value === "object") return Object.entries(value).map(([name, each]) => fact(name, each)).join(", ") || "-";
  return value === null || value === "" ? "-" : String(value);
}

function audit(entries) {
  return table(`The latest ${entries.length} changes, newest first. The command eddy audit verify checks that none was edited.`, [
    { title: "No.", of: (entry) => String(entry.seq) },
    { title: "When", of: (entry) => moment(entry.at_unix_s) },
    { title: "Who", of: (entry) => entry.actor || "the server" },
    { title: "Key", of: (entry) => entry.key || "-" },
    { title: "What", of: (entry) => entry.action },
    { title: "With", of: (entry) => Object.entries(entry.facts).map(([name, value]) => fact(name, value)).join("; ") },
  ], [...entries].reverse(), "Nothing was changed yet.");
}
