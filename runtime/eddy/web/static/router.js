// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
// Pages by their addresses: which sections are shown, and what the address asks for.

const PAGES = ["jobs", "submit", "slots", "clusters", "pool", "leases", "market", "account", "tenants", "audit"];
const TITLES = { overview: "Overview", job: "Job", nothing: "No such page" };
let place = "";

// `#/jobs?state=failed` is page `jobs` with one wish; `#/jobs/17` is page `job` of job 17.
export function address() {
  const [path, query] = location.hash.replace(/^#\/?/, "").split("?");
  const parts = path.split("/").filter(Boolean);
  const wishes = new URLSearchParams(query || "");
  if (!parts.length) return { page: "overview", wishes };
  if (parts[0] === "jobs" && /^\d+$/.test(parts[1] || "")) return { page: "job", job: parts[1], wishes };
  return { page: PAGES.includes(parts[0]) && parts.length === 1 ? parts[0] : "nothing", wishes };
}

export function named(board) {
  place = board;
  document.getElementById("place").textContent = board ? `${board} at ${location.host}` : location.host;
  title();
}

function title() {
  const { page, job } = address();
  const name = job ? `Job ${job}` : TITLES[page] || page[0].toUpperCase() + page.slice(1);
  document.title = `${name} - Eddy ${place ? `${place} ` : ""}at ${location.host}`;
}

export function turn() {
  const { page } = address();
  for (const section of document.querySelectorAll("[data-on]")) section.classList.toggle("off", !section.dataset.on.split(" ").includes(page));
  for (const link of document.querySelectorAll("#pages a")) {
    const here = link.getAttribute("href") === (page === "overview" ? "#/" : `#/${page === "job" ? "jobs" : page}`);
    if (here) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  title();
  return page;
}
