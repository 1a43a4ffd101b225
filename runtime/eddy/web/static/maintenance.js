// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
// The next maintenance window, announced above everything else.

import { maintenance } from "./api.js";

const PERIOD_MS = 30_000;
let asked = 0;

export async function announce(place) {
  if (Date.now() - asked < PERIOD_MS) return;
  asked = Date.now();
  const [next] = (await maintenance()).filter((window) => !["ended", "cancelled"].includes(window.stage));
  place.hidden = !next;
  if (next) place.textContent = words(next);
}

export function forgetAnnouncement(place) {
  asked = 0;
  place.hidden = true;
}

function words(window) {
  const begins = new Date(window.begins_unix_s * 1000), ends = new Date(window.ends_unix_s * 1000), day = (date) => date.toDateString();
  const time = (date, from) => date.toLocaleString([], day(date) === day(from) ? { timeStyle: "short" } : { month: "short", day: "numeric", hour: "numeric", minute: "2-digit" });
  const slots = window.slots.length ? `slot${window.slots.length > 1 ? "s" : ""} ${window.slots.join(", ")}` : "all slots";
  const stage = { planned: "", draining: " Slots are being emptied.", open: " It is in progress." }[window.stage];
  return `Maintenance of ${slots}: ${window.title}, ${time(begins, new Date())} to ${time(ends, begins)}.${stage}`;
}
