// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
// What the operator changes while jobs run: slots are drained and brought back, policies switched.

import * as api from "./api.js";
import { element } from "./format.js";

const ENDED = new Set(["empty", "idle", "faulted"]);

// What a slot does, in a word; that nobody's job may have it comes before what is in it.
export const wordOf = (slot) => (slot.drained ? (ENDED.has(slot.phase) ? "drained" : "draining") : slot.leased ? "leased" : slot.phase);

export function stateOf(slot) {
  const bad = slot.phase === "faulted" || slot.drained;
  return element("span", { class: bad ? "bad" : null, title: slot.drained_because || slot.lease }, wordOf(slot));
}

function told(text, bad) {
  const line = document.getElementById("operate-said");
  line.className = bad ? "bad" : "quiet";
  line.textContent = text;
}

async function tried(change, said, refresh) {
  try {
    await change();
    told(said, false);
  } catch (problem) {
    told(problem.status ? problem.message : "The server does not answer.", true);
  }
  refresh();
}

export function drainButton(slot, refresh) {
  const verb = slot.drained ? "Undrain" : "Drain";
  const said = slot.drained ? `Slot ${slot.slot} is given to jobs again.` : `Nothing new is placed in slot ${slot.slot}.`;
  const change = () => tried(() => api.drain(slot.slot, !slot.drained, "drained on the dashboard"), said, refresh);
  return element("button", { type: "button", "aria-label": `${verb} slot ${slot.slot}`, onclick: change }, verb);
}

// Boards of a pool: their names and reasons are text, never markup.
export function boardState(board) {
  const text = !board.present ? "away" : !board.drained ? "present" : board.jobs.length ? "draining" : "drained";
  return element("span", { class: text === "present" ? null : "bad" }, text);
}

export function drainBoardButton(board, refresh) {
  const verb = board.drained ? "Undrain" : "Drain";
  const said = board.drained ? `Board ${board.board} is given jobs again.` : `Nothing new is placed on board ${board.board}.`;
  const change = () => tried(() => api.drainBoard(board.board, board.drained ? "" : "drained on the dashboard"), said, refresh);
  return element("button", { type: "button", "aria-label": `${verb} board ${board.board}`, onclick: change }, verb);
}

export function drainedBoards(state) {
  const drained = state.boards.filter((board) => board.drained);
  document.getElementById("operate").replaceChildren(drained.length ? "" : element("p", { class: "quiet" }, "No board is drained."));
  document.getElementById("drained").replaceChildren(...drained.map((board) => element("li", {}, `Board ${board.board} is drained.`)));
}

// The lists are made once: one that is open must not be closed by what is drawn every second.
let shown = null;

export async function policies(place, state, market, refresh) {
  for (const slot of state.slots.filter((each) => each.drained && each.drained_because)) why(slot);
  clear(state);
  if (shown === null) {
    shown = {};
    const found = [["policy", "Dispatch policy", await api.policy(), api.policy]];
    if (market) found.push(["price", "Price policy", await api.price(), api.price]);
    if (shown === null) return;
    for (const [name, title, known, put] of found) place.append(choice(name, title, known, put, refresh));
  }
  keep("policy", state.policy);
  if (market) keep("price", market.price_policy);
}

function choice(name, title, known, put, refresh) {
  const list = element("select", { id: `choose-${name}` }, ...known.allowed.map((each) => element("option", { value: each }, each)));
  shown[name] = list;
  list.value = known.policy;
  const change = () => tried(() => put(list.value), `${title}: ${list.value}.`, refresh);
  return element("p", {}, element("label", { for: `choose-${name}` }, `${title} `), list, " ",
    element("button", { type: "button", "aria-label": `Put ${title.toLowerCase()} in force`, onclick: change }, "Put in force"));
}

// What is in force moves the choice only when it has moved itself: a choice not yet put in force stays.
function keep(name, value) {
  const list = shown[name];
  if (list && list.dataset.inForce !== value) list.value = list.dataset.inForce = value;
}

function why(slot) {
  const id = `drained-${slot.slot}`, text = `Slot ${slot.slot} is drained: ${slot.drained_because}`;
  const line = document.getElementById(id) || element("li", { id });
  if (line.textContent !== text) line.textContent = text;
  document.getElementById("drained").append(line);
}

function clear(state) {
  const wanted = new Set(state.slots.filter((each) => each.drained_because).map((each) => `drained-${each.slot}`));
  for (const line of [...document.getElementById("drained").children]) if (!wanted.has(line.id)) line.remove();
}

export function forget() {
  shown = null;
  document.getElementById("operate").replaceChildren();
  document.getElementById("drained").replaceChildren();
  told("", false);
}
