// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
// Tenants and keys: added, bounded, revoked. A key that was made is shown once.

import * as api from "./api.js";
import { bytes, confirmed, element, moment, table } from "./format.js";

const at = (id) => document.getElementById(id);
const BOUNDS = [["max_jobs", "Jobs", 1], ["max_blob_bytes", "Blobs, MiB", 1 << 20], ["max_priority", "Priority", 1],
  ["max_slot_s", "Slot-seconds a day", 1], ["max_core_s", "Core-seconds a day", 1], ["max_requests_per_s", "Requests a second", 1]];

export async function manage() {
  at("manage-section").hidden = false;
  if (!at("tenant-form").children.length) addForm();
  await redraw();
}

export async function keys(state) {
  at("keys-section").hidden = false;
  if (!at("key-form").children.length) keyForm(state);
  await redrawKeys();
}

export function forgetTenants() {
  for (const id of ["manage", "projects", "tenant-form", "tenant-said", "keys", "key-form", "key-said"]) at(id).replaceChildren();
  at("manage-section").hidden = at("projects-section").hidden = at("keys-section").hidden = true;
}

function said(id, bad, ...content) {
  at(id).className = bad ? "bad" : "";
  at(id).replaceChildren(...content);
}

async function tried(id, change, redrawn) {
  try {
    said(id, false, ...await change());
  } catch (problem) {
    said(id, true, problem.status ? problem.message : "The server does not answer.");
  }
  await redrawn().catch(() => {});
}

const secret = (text, key) => [text, " ", element("code", { class: "secret" }, key), " It is not shown again."];
const field = (id, title, made) => element("p", {}, element("label", { for: id }, title), made);

function addForm() {
  const input = (id, more = {}) => element("input", { id, maxlength: 64, ...more });
  at("tenant-form").replaceChildren(field("tenant-name", "Name", input("tenant-name", { required: true, pattern: "[A-Za-z][A-Za-z0-9_.\\-]*" })),
    field("tenant-called", "Display name", input("tenant-called")),
    field("tenant-jobs", "Jobs at once", input("tenant-jobs", { type: "number", min: 0, placeholder: "as usual" })),
    field("tenant-weight", "Weight", input("tenant-weight", { type: "number", min: 0.001, step: "any", placeholder: "1" })),
    element("button", { type: "submit" }, "Add the tenant"));
  at("tenant-form").onsubmit = (event) => {
    event.preventDefault();
    tried("tenant-said", add, redraw);
  };
}

async function add() {
  const value = (id) => at(id).value.trim();
  const made = await api.addTenant({
    id: value("tenant-name"), display_name: value("tenant-called"),
    quota: value("tenant-jobs") ? { max_jobs: Number(value("tenant-jobs")) } : {},
    attributes: value("tenant-weight") ? { weight: Number(value("tenant-weight")) } : {},
  });
  at("tenant-form").reset();
  return secret(`Tenant ${made.id} has the key`, made.key);
}

async function redraw() {
  const [{ tenants }, { projects, half_life_days: days }] = await Promise.all([api.tenants(), api.projects()]);
  const projectOf = new Map(projects.flatMap((each) => each.members.map((tenant) => [tenant, each.id])));
  at("manage").replaceChildren(table("", [
    { title: "Tenant", of: (each) => (each.display_name ? `${each.display_name} (${each.id})` : each.id) },
    { title: "Role", bare: true, of: (each) => (each.admin ? "operator" : "tenant") },
    { title: "Project", of: (each) => projectOf.get(each.id) ?? "-" },
    { title: "Weight", number: true, of: (each) => String(each.attributes?.weight ?? 1) },
    { title: "Jobs", number: true, of: (each) => most(each.quota.max_jobs) },
    { title: "Blobs", number: true, of: (each) => (each.quota.max_blob_bytes === null ? "any" : bytes(each.quota.max_blob_bytes)) },
    { title: "Priority", number: true, of: (each) => most(each.quota.max_priority) },
    { title: "Requests/s", number: true, of: (each) => most(each.quota.max_requests_per_s) },
    { title: "", of: (each) => element("button", { type: "button", "aria-label": `Change the bounds of ${each.id}`, onclick: (event) => edit(each, event.target.closest("tr")) }, "Change") },
  ], tenants, "There is no tenant."));
  at("projects-section").hidden = !projects.length;
  at("projects").replaceChildren(table("", [
    { title: "Project", of: (each) => each.id },
    { title: "Share", number: true, of: (each) => String(each.share) },
    { title: "Of the board", number: true, of: (each) => percent(each.entitled) },
    ...(days ? [{ title: `Used (half-life ${days} days)`, number: true, of: (each) => percent(each.used) }] : []),
    { title: "Tenants", of: (each) => each.members.join(", ") },
  ], projects, ""));
}

const percent = (part) => `${(100 * part).toFixed(1)} %`;

const most = (value) => (value === null || value === undefined ? "any" : value.toLocaleString("en"));

// The bounds of one tenant, below its row.
function edit(tenant, row) {
  const id = (name) => `bound-${name}`;
  const number = (name, value) => element("input", { id: id(name), type: "number", min: 0, step: "any", value: value ?? "", placeholder: "any" });
  const form = element("form", { class: "fields", "aria-label": `Bounds of ${tenant.id}` },
    field(id("weight"), "Weight", number("weight", tenant.attributes?.weight ?? 1)),
    ...BOUNDS.map(([name, title, unit]) => field(id(name), title, number(name, tenant.quota[name] === null ? null : tenant.quota[name] / unit))),
    element("button", { type: "submit" }, "Put in force"), element("button", { type: "button", onclick: () => place.remove() }, "Discard"));
  const place = element("tr", {}, element("td", { colspan: row.children.length }, form));
  row.parentElement.querySelector("tr.editor")?.remove();
  place.className = "editor";
  row.after(place);
  form.querySelector("input").focus();
  form.onsubmit = (event) => {
    event.preventDefault();
    const told = BOUNDS.map(([name, , unit]) => [name, at(id(name)).value, unit]).filter(([name, value]) => value !== "" && Number(value) * (BOUNDS.find(([each]) => each === name)[2]) !== tenant.quota[name]);
    const change = { quota: Object.fromEntries(told.map(([name, value, unit]) => [name, Number(value) * unit])), weight: Number(at(id("weight")).value) || null };
    tried("tenant-said", async () => { await api.changeTenant(tenant.id, change); return [`The bounds of ${tenant.id} are in force.`]; }, redraw);
  };
}

function keyForm(state) {
  const scopes = ["tenant", "read", ...(state.operator ? ["operator"] : [])];
  at("key-form").replaceChildren(field("key-label", "Name of a new key", element("input", { id: "key-label", maxlength: 64 })),
    field("key-scope", "It may", element("select", { id: "key-scope" }, ...scopes.map((scope) => element("option", { value: scope }, { tenant: "submit and read", read: "only read", operator: "everything" }[scope])))),
    field("key-days", "Ends after, days", element("input", { id: "key-days", type: "number", min: 1, max: 3650, placeholder: "never" })),
    ...(state.operator ? [field("key-tenant", "For the tenant", element("input", { id: "key-tenant", maxlength: 64, placeholder: "yourself" }))] : []),
    element("button", { type: "submit" }, "Make a key"));
  at("key-form").onsubmit = (event) => {
    event.preventDefault();
    tried("key-said", makeKey, redrawKeys);
  };
}

async function makeKey() {
  const days = Number(at("key-days").value), tenant = at("key-tenant")?.value.trim();
  const made = await api.makeKey({
    label: at("key-label").value.trim(), scope: at("key-scope").value,
    ...(days ? { expires_in_s: days * 86_400 } : {}), ...(tenant ? { tenant } : {}),
  });
  at("key-form").reset();
  return secret(`Key ${made.id} of ${made.tenant} is`, made.key);
}

async function redrawKeys() {
  const found = await api.keys();
  const revoke = (key) => tried("key-said", async () => { await api.revokeKey(key.id); return [`Key ${key.id} is revoked.`]; }, redrawKeys);
  at("keys").replaceChildren(table("", [
    { title: "Key", of: (key) => key.id }, { title: "Name", of: (key) => key.label || "-" }, { title: "Tenant", bare: true, of: (key) => key.tenant },
    { title: "Scope", of: (key) => key.scope }, { title: "Made", of: (key) => moment(key.created_unix_s) }, { title: "Ends", of: (key) => (key.expires_unix_s === null ? "never" : moment(key.expires_unix_s)) },
    { title: "", of: (key) => confirmed("Revoke", `Revoke key ${key.id}`, () => revoke(key)) },
  ], found.keys.filter((key) => key.valid), "There is no key."));
}
