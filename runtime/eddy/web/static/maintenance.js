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
  const time = (unix) => new Date(unix * 1000).toLocaleString([], { dateStyle: "medium", timeStyle: "short" });
  const slots = window.slots.length ? `slots ${window.slots.join(", ")}` : "all slots";
  const now = { planned: "", draining: " Slots are being emptied.", open: " It is in progress." }[window.stage];
  return `Maintenance: ${window.title} (${slots}), ${time(window.begins_unix_s)} to ${time(window.ends_unix_s)}.${now}`;
}
