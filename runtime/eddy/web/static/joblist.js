// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
// The list of all jobs: filters that are in the address, pages, and views that this browser keeps.

import * as api from "./api.js";
import { element } from "./format.js";
import { list } from "./jobs.js";
import { address } from "./router.js";

const STATES = ["", "queued", "placed", "reconfiguring", "running", "preempted", "draining", "succeeded", "failed", "cancelled"];
const SORTS = [["newest", "newest first"], ["oldest", "oldest first"], ["ended", "last ended first"]];
const TEXTS = [["application", "Application"], ["kernel", "Kernel"], ["label", "Label (name=value)"], ["tenant", "Tenant"]];
const SINCE = [["", "at any time"], ["3600", "in the last hour"], ["86400", "in the last day"], ["604800", "in the last week"]];
const KEPT = "eddy-views", PAGE = 50;
const at = (id) => document.getElementById(id);
let shown = null, following = null, operator = false;

export function jobList(state) {
  operator = state.operator;
  const wanted = location.hash;
  if (wanted === shown) return;
  shown = wanted;
  form(address().wishes);
  views();
  ask(true);
}

export function forgetList() {
  shown = null;
  at("list").replaceChildren();
  at("list-form").replaceChildren();
}

function form(wishes) {
  const field = (name, title, made) => element("p", {}, element("label", { for: `list-${name}` }, title), made);
  const text = ([name, title]) => field(name, title, element("input", { id: `list-${name}`, name, maxlength: 128, value: wishes.get(name) || "", list: name === "application" ? "list-applications" : null }));
  const choice = (name, title, options) => {
    const made = element("select", { id: `list-${name}`, name }, ...options.map(([value, said]) => element("option", { value }, said)));
    made.value = wishes.get(name) || options[0][0];
    return field(name, title, made);
  };
  at("list-form").replaceChildren(
    choice("state", "State", STATES.map((state) => [state, state || "any"])),
    ...TEXTS.filter(([name]) => operator || name !== "tenant").map(text), choice("since", "Submitted", SINCE), choice("sort", "Order", SORTS),
    field("number", "Job number", element("input", { id: "list-number", inputmode: "numeric", pattern: "[0-9]*", maxlength: 16 })),
    element("datalist", { id: "list-applications" }),
    element("div", { class: "buttons" }, element("button", { type: "submit" }, "Search"), element("button", { type: "button", onclick: again }, "Refresh"),
      element("button", { type: "button", onclick: keep }, "Save this view")),
  );
  at("list-form").onsubmit = (event) => {
    event.preventDefault();
    const number = at("list-number").value, before = location.hash;
    location.hash = number ? `#/jobs/${number}` : `#/jobs${query()}`;
    if (location.hash === before) again();
  };
  api.apps().then(({ apps }) => at("list-applications")?.replaceChildren(...apps.map((app) => element("option", { value: app.name }))), () => {});
}

function again() {
  shown = null;
  jobList({ operator });
}

function query() {
  const wishes = new URLSearchParams([...new FormData(at("list-form"))].filter(([name, value]) => value && !(name === "sort" && value === SORTS[0][0])));
  return wishes.size ? `?${wishes}` : "";
}

async function ask(first) {
  const wishes = new URLSearchParams([...address().wishes].filter(([name]) => name === "state" || name === "sort" || TEXTS.some(([each]) => each === name)));
  wishes.set("limit", PAGE);
  const since = Number(address().wishes.get("since"));
  if (since > 0) wishes.set("submitted_from", Math.floor(Date.now() / 1000) - since);
  if (!first && following) wishes.set("cursor", following);
  const mine = shown;
  try {
    const page = await api.jobs(wishes);
    if (mine !== shown) return;
    following = page.next;
    const rows = list(page.jobs, operator, "No job fits. Ask for less, or for any state.", "submitted");
    const body = at("list").querySelector("tbody");
    if (first || !body) at("list").replaceChildren(rows);
    else body.append(...rows.querySelectorAll("tbody tr"));
    const count = at("list").querySelectorAll("tbody tr").length;
    said(`${count} ${count === 1 ? "job" : "jobs"}${following ? " are shown, and there are more" : ""}${page.damaged.length ? `; ${page.damaged.length} records are damaged` : ""}.`);
    at("list-more").replaceChildren(following ? element("button", { type: "button", onclick: () => ask(false) }, "Show more") : "");
  } catch (problem) {
    said(problem.status ? problem.message : "The server does not answer.", true);
  }
}

function said(text, bad = false) {
  at("list-said").className = bad ? "bad" : "quiet";
  at("list-said").textContent = text;
}

// Views are kept by this browser: names and addresses, nothing of the jobs.
const kept = () => { try { return JSON.parse(localStorage.getItem(KEPT)) || []; } catch { return []; } };

function keep() {
  const found = query(), name = decodeURIComponent(found.slice(1).replaceAll("&", ", ").replaceAll("+", " ")) || "every job";
  localStorage.setItem(KEPT, JSON.stringify([...kept().filter((view) => view.query !== found), { name, query: found }].slice(-12)));
  views();
}

function views() {
  const drop = (view) => { localStorage.setItem(KEPT, JSON.stringify(kept().filter((each) => each.query !== view.query))); views(); };
  at("list-views").replaceChildren(...kept().map((view) => element("span", {}, element("a", { href: `#/jobs${view.query}` }, view.name), " ",
    element("button", { type: "button", "aria-label": `Forget the view ${view.name}`, onclick: () => drop(view) }, "x"))));
}
