// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
// A job from the page: an application of the catalogue, a file for each of its inputs, a priority.

import * as api from "./api.js";
import { bytes as sized, element } from "./format.js";
import { sha256 } from "./hash.js";
import { LABEL, cut, pattern } from "./tiles.js";

const PRIORITIES = ["1", "3", "9"];
const at = (id) => document.getElementById(id);
let apps = null, attempt = "";

// The form is made once: what was chosen must not be lost to what is drawn every second.
export async function offer() {
  if (apps !== null) return;
  apps = [];
  const found = await api.apps().catch(() => ({ apps: [] }));
  if (apps === null) return;
  apps = found.apps;
  at("submit-section").hidden = !apps.length;
  if (!apps.length) return;
  const names = element("select", { id: "submit-application", onchange: () => fields() }, ...apps.map((app) => element("option", { value: app.name }, app.name)));
  // What is easiest to try comes first: one that takes nothing but pictures.
  names.value = (apps.find((app) => wanted(app).every(isPicture)) || apps[0]).name;
  const levels = element("select", { id: "submit-priority" }, ...PRIORITIES.map((level) => element("option", { value: level }, level)));
  at("submit-form").replaceChildren(
    row("submit-application", "Application", names), element("div", { id: "submit-inputs" }),
    row("submit-priority", "Priority (higher comes first)", levels), element("button", { type: "submit" }, "Submit"),
  );
  at("submit-form").oninput = () => { attempt = ""; };
  at("submit-form").onsubmit = (event) => { event.preventDefault(); send(); };
  fields();
}

export function withdraw() {
  apps = null;
  attempt = "";
  at("submit-section").hidden = true;
  at("submit-form").replaceChildren();
  at("submit-said").replaceChildren();
}

const row = (id, title, ...content) => element("p", {}, element("label", { for: id }, title), ...content);
const chosen = () => apps.find((app) => app.name === at("submit-application").value);
const wanted = (app) => app.buffers.filter((buffer) => ["input", "update"].includes(buffer.role) || (buffer.role === "constant" && !buffer.shipped));
const isPicture = (buffer) => buffer.role === "input" && buffer.picture;

// A type as people know it: `<f4` is float32.
function valued(dtype) {
  const found = /^[<|=]?([iuf])(\d+)$/.exec(dtype);
  return found ? `${{ i: "int", u: "uint", f: "float" }[found[1]]}${8 * found[2]}` : dtype;
}

function fields() {
  const made = wanted(chosen()).map((buffer) => {
    const id = `submit-input-${buffer.name}`, hint = `${id}-hint`;
    const takes = isPicture(buffer) ? "A picture, .npy or raw bytes" : ".npy or raw bytes";
    const what = `${takes}: ${buffer.shape.join(" x ")} values of ${valued(buffer.dtype)}, ${sized(buffer.bytes)}${buffer.role === "constant" ? "" : " an item"}.`;
    const none = isPicture(buffer) ? "Without a file: a test pattern." : "Without a file: zeros.";
    return row(id, buffer.name, element("input", { type: "file", id, "aria-describedby": hint }),
      element("span", { id: hint, class: "quiet" }, `${what} ${none}`));
  });
  at("submit-inputs").replaceChildren(...made);
}

function said(bad, ...content) {
  at("submit-said").className = bad ? "bad" : "";
  at("submit-said").replaceChildren(...content);
}

async function send() {
  const button = at("submit-form").querySelector("button");
  button.disabled = true;
  said(false, "Sending");
  try {
    const job = await submitted(chosen());
    attempt = "";
    said(false, `Job ${job.id} is submitted. `, element("a", { href: `#/jobs/${job.id}` }, `Show job ${job.id}`));
  } catch (problem) {
    said(true, problem instanceof TypeError ? "The server does not answer; submit again, it will not run twice." : problem.message);
  }
  button.disabled = false;
}

async function submitted(app) {
  const inputs = {}, constants = {}, labels = {}, batches = new Map();
  for (const buffer of wanted(app)) {
    const part = await content(buffer, at(`submit-input-${buffer.name}`).files[0], app.max_batch);
    const name = sha256(part.bytes);
    await api.putBlob(name, part.bytes);
    if (buffer.role === "constant") constants[buffer.name] = name;
    else {
      inputs[buffer.name] = [name];
      batches.set(buffer.name, part.items);
      if (part.size) labels[LABEL] = part.size;
    }
  }
  const counts = [...new Set(batches.values())];
  if (counts.length > 1) throw new Error(`The files have different numbers of items: ${[...batches].map(([name, items]) => `${name} ${items}`).join(", ")}.`);
  attempt ||= [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, "0")).join("");
  return api.submit({ application: app.name, batch: counts[0] ?? 1, priority: Number(at("submit-priority").value), inputs, constants, labels }, attempt);
}

async function content(buffer, file, most) {
  if (!file) return isPicture(buffer) && most >= 4 ? pattern(buffer) : { bytes: new Uint8Array(buffer.bytes), items: 1 };
  if (isPicture(buffer) && file.type.startsWith("image/")) return cut(file, buffer, most);
  const data = new Uint8Array(await file.arrayBuffer());
  const whole = file.name.endsWith(".npy") ? values(data, buffer, file.name) : data;
  const items = whole.length / buffer.bytes;
  if (!whole.length || !Number.isInteger(items) || (buffer.role === "constant" && items !== 1)) {
    throw new Error(`${file.name} has ${whole.length} bytes; ${buffer.name} takes ${buffer.role === "constant" ? "" : "a multiple of "}${buffer.bytes}.`);
  }
  return { bytes: whole, items };
}

// The values of a .npy file, whose header is a Python dictionary (format of numpy.lib.format).
function values(data, buffer, name) {
  const view = new DataView(data.buffer), long = data[6] > 1;
  const begins = data.length > 12 && data[0] === 0x93 && new TextDecoder().decode(data.subarray(1, 6)) === "NUMPY";
  const from = long ? 12 : 10, end = begins ? from + (long ? view.getUint32(8, true) : view.getUint16(8, true)) : 0;
  const head = new TextDecoder().decode(data.subarray(from, end));
  const dtype = /'descr':\s*'([^']+)'/.exec(head)?.[1];
  if (!begins || !dtype) throw new Error(`${name} is not a .npy file.`);
  if (dtype.replace("|", "") !== buffer.dtype.replace("|", "") || !/'fortran_order':\s*False/.test(head)) {
    throw new Error(`${name} has values of ${dtype}; ${buffer.name} takes ${buffer.dtype} in C order.`);
  }
  return data.slice(end);
}
