// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
// A kernel from the page: OpenCL C in an editor, and what each of its arguments begins as.

import * as api from "./api.js";
import { element } from "./format.js";
import { sha256 } from "./hash.js";

const SAMPLE = `__kernel void saxpy(__global float *y, __global const float *x, float a) {
  size_t i = get_global_id(0);
  y[i] = a * x[i] + y[i];
}
`;
const ITEMS = 1024, MOST = 1 << 22;
// What a pointer's values are in memory: the type as NumPy writes it, and the array that has it here.
const TYPES = {
  char: ["|i1", Int8Array], uchar: ["|u1", Uint8Array], short: ["<i2", Int16Array], ushort: ["<u2", Uint16Array], int: ["<i4", Int32Array],
  uint: ["<u4", Uint32Array], long: ["<i8", BigInt64Array], ulong: ["<u8", BigUint64Array], float: ["<f4", Float32Array], double: ["<f8", Float64Array],
};
const at = (id) => document.getElementById(id);
let attempt = "";

export function offerKernel() {
  if (at("kernel-form").children.length) return;
  const source = element("textarea", { id: "kernel-source", rows: 10, spellcheck: "false", maxlength: 200_000, required: true, oninput: () => fields() });
  source.value = SAMPLE;
  at("kernel-form").replaceChildren(
    element("p", {}, element("label", { for: "kernel-source" }, "OpenCL C"), source),
    element("div", { id: "kernel-arguments", class: "fields" }),
    element("div", { class: "fields" }, row("kernel-size", "Work-items", element("input", { id: "kernel-size", value: ITEMS, required: true, pattern: "[0-9]+( *[x,] *[0-9]+){0,2}" }), "up to three numbers, as 64 x 64"),
      row("kernel-options", "Build options", element("input", { id: "kernel-options", maxlength: 4096 }), "-D, -I, -cl-..."), element("button", { type: "submit" }, "Submit the kernel")),
  );
  at("kernel-form").addEventListener("input", () => { attempt = ""; });
  at("kernel-form").onsubmit = (event) => { event.preventDefault(); send(); };
  fields();
}

export function withdrawKernel() {
  attempt = "";
  at("kernel-form").replaceChildren();
  at("kernel-said").replaceChildren();
}

const row = (id, title, made, hint) => element("p", {}, element("label", { for: id }, title), made, element("span", { class: "quiet" }, hint));

// The first kernel of a source: its name and parameters, as they are written; null where none is found.
export function signature(source) {
  const plain = source.replace(/\/\*[\s\S]*?\*\/|\/\/[^\n]*/g, " ");
  const found = /\b(?:__kernel|kernel)\b[\s\S]*?\bvoid\s+([A-Za-z_]\w*)\s*\(([^)]*)\)/.exec(plain);
  if (!found) return null;
  const parameters = found[2].split(",").map((text) => text.trim()).filter((text) => text && text !== "void").map((text) => {
    const pointer = text.includes("*"), local = /\b(?:__)?local\b/.test(text), name = /(\w+)\s*(?:\[\s*\])?$/.exec(text)?.[1] || "";
    const type = text.replace(/\bunsigned\s+(char|short|int|long)\b/, "u$1").match(/\b(u?(?:char|short|int|long)|float|double)\b/)?.[1] || "";
    return { name, type, pointer, local: pointer && local };
  });
  return { name: found[1], parameters };
}

function fields() {
  const found = signature(at("kernel-source").value), before = new Map([...at("kernel-arguments").querySelectorAll("input, select")].map((each) => [each.id, each.value]));
  const keep = (made, usual) => { made.value = before.get(made.id) ?? usual; return made; };
  const made = (found?.parameters || []).map(({ name, type, pointer, local }, place) => {
    const id = `kernel-argument-${place}`, title = `${name} (${local ? "local " : ""}${type || "?"}${pointer ? " *" : ""})`;
    if (local) return row(id, title, keep(element("input", { id, type: "number", min: 1 }), 256), "bytes");
    if (!pointer) return row(id, title, keep(element("input", { id, required: true, pattern: "[-+0-9.eE]+" }), 2), "a number");
    const kinds = ["0, 1, 2, ...", "zeros", "ones"];
    const begin = keep(element("select", { id: `${id}-begin`, "aria-label": `${name} begins as` }, ...kinds.map((kind) => element("option", { value: kind }, kind))), kinds[0]);
    return element("p", {}, element("label", { for: id }, title), keep(element("input", { id, type: "number", min: 1, max: MOST }), ITEMS), element("span", { class: "quiet" }, "values, which begin as"), begin);
  });
  at("kernel-arguments").replaceChildren(...(found ? made : [element("p", { class: "bad" }, "No kernel is found: kernel void NAME(...).")]));
}

function said(bad, ...content) {
  at("kernel-said").className = bad ? "bad" : "";
  at("kernel-said").replaceChildren(...content);
}

async function send() {
  const button = at("kernel-form").querySelector("button");
  button.disabled = true;
  said(false, "Sending");
  try {
    const body = await submission();
    attempt ||= [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, "0")).join("");
    const job = await api.submit(body, attempt);
    attempt = "";
    said(false, `Job ${job.id} is submitted. `, element("a", { href: `#/jobs/${job.id}` }, `Show job ${job.id}`));
  } catch (problem) {
    said(true, problem instanceof TypeError ? "The server does not answer; submit again, it will not run twice." : problem.message);
  }
  button.disabled = false;
}

async function submission() {
  const source = at("kernel-source").value, found = signature(source);
  if (!found) throw new Error("No kernel is found in the source.");
  const given = [];
  for (const [place, parameter] of found.parameters.entries()) given.push(await argument(parameter, place));
  const kernel = { source, kernel: found.name, global_size: at("kernel-size").value.split(/[x,]/).map((each) => Number(each.trim())), arguments: given };
  return { kernel: at("kernel-options").value.trim() ? { ...kernel, options: at("kernel-options").value.trim() } : kernel };
}

async function argument({ name, type, pointer, local }, place) {
  const value = at(`kernel-argument-${place}`).value.trim();
  if (local) return { local: Number(value) };
  if (!pointer) return { value: Number(value) };
  if (!TYPES[type]) throw new Error(`The type of ${name} is not one that this page can fill; submit it with eddy gpu run.`);
  const [dtype, Values] = TYPES[type], count = Number(value), begin = at(`kernel-argument-${place}-begin`).value;
  const of = (index) => (begin === "zeros" ? 0 : begin === "ones" ? 1 : index);
  const values = Values === BigInt64Array || Values === BigUint64Array ? Values.from({ length: count }, (_, index) => BigInt(of(index))) : Values.from({ length: count }, (_, index) => of(index));
  const bytes = new Uint8Array(values.buffer), digest = sha256(bytes);
  await api.putBlob(digest, bytes);
  return { buffer: digest, dtype, shape: [count] };
}
