// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
// Requests to the API that served this page. The key is sent once, to log in; then the session's cookie is enough.

let token = "";

export class Problem extends Error {
  constructor(status, document) {
    super(document.detail || `The server answered ${status}.`);
    this.status = status;
    this.code = document.code || "";
  }
}

async function call(method, path, body, more = {}) {
  const headers = { Accept: "application/json", ...more };
  if (token) headers["X-CSRF-Token"] = token;
  const raw = body === undefined || body instanceof Uint8Array;
  if (body !== undefined) headers["Content-Type"] = raw ? "application/octet-stream" : "application/json";
  const answer = await fetch(path, { method, headers, credentials: "same-origin", body: raw ? body : JSON.stringify(body) });
  const document = answer.status === 204 ? {} : await answer.json().catch(() => ({}));
  if (!answer.ok) throw new Problem(answer.status, document);
  return document;
}

export async function resume() {
  const session = await call("GET", "/v1/session");
  token = session.csrf_token;
  return session;
}

export async function logIn(key) {
  const session = await call("POST", "/v1/session", { key });
  token = session.csrf_token;
  return session;
}

// Where people log in who have no key; a head of a pool has no such place.
export const signOn = () => call("GET", "/v1/session/sign-on/offer");

export async function logOut() {
  await call("DELETE", "/v1/session");
  token = "";
}

export const overview = () => call("GET", "/v1/overview");
export const drain = (slot, drained, because) => call("PUT", `/v1/admin/slots/${slot}`, drained ? { drained, because } : { drained });
export const drainBoard = (board, because) => call("PUT", `/v1/pool/boards/${encodeURIComponent(board)}`, { because });
export const policy = (name) => call(name ? "PUT" : "GET", "/v1/admin/policy", name ? { policy: name } : undefined);
export const price = (name) => call(name ? "PUT" : "GET", "/v1/admin/price", name ? { policy: name } : undefined);
export const jobs = (wishes) => call("GET", `/v1/jobs?${wishes}`);
export const history = (hours, points) => call("GET", `/v1/history?hours=${hours}&points=${points}`);
export const tenants = () => call("GET", "/v1/admin/tenants");
export const projects = () => call("GET", "/v1/projects");
export const addTenant = (body) => call("POST", "/v1/admin/tenants", body);
export const changeTenant = (name, body) => call("PATCH", `/v1/admin/tenants/${encodeURIComponent(name)}`, body);
export const keys = () => call("GET", "/v1/keys");
export const makeKey = (body) => call("POST", "/v1/keys", body);
export const revokeKey = (key) => call("DELETE", `/v1/keys/${encodeURIComponent(key)}`);
export const job = (id) => call("GET", `/v1/jobs/${id}`);
export const explain = (id) => call("GET", `/v1/jobs/${id}/explain`);
export const quota = () => call("GET", "/v1/quota");
export const leases = () => call("GET", "/v1/leases");
export const leaseCalendar = () => call("GET", "/v1/lease-calendar");
export const askForLease = (body) => call("POST", "/v1/leases", body);
export const extendLease = (name, more_s) => call("POST", `/v1/leases/${encodeURIComponent(name)}/extend`, { more_s });
export const releaseLease = (name) => call("DELETE", `/v1/leases/${encodeURIComponent(name)}`);
export const audit = (last) => call("GET", `/v1/admin/audit?last=${last}`);
export const usage = (days) => call("GET", `/v1/usage?from=${new Date(Date.now() - (days - 1) * 86_400_000).toISOString().slice(0, 10)}`);
export const apps = () => call("GET", "/v1/apps");
export const app = (name) => call("GET", `/v1/apps/${encodeURIComponent(name)}`);
export const putBlob = (name, bytes) => call("PUT", `/v1/blobs/${name}`, bytes);
export const submit = (body, key) => call("POST", "/v1/jobs", body, { "Idempotency-Key": key });
export const cancel = (id) => call("DELETE", `/v1/jobs/${id}`);

// The bytes of an output.
export async function output(path) {
  const answer = await fetch(path, { credentials: "same-origin" });
  if (!answer.ok) throw new Problem(answer.status, {});
  return new Uint8Array(await answer.arrayBuffer());
}

let hasCalendar = true;
export async function maintenance() {
  // A head of a pool has no calendar; it is asked once.
  if (!hasCalendar) return [];
  try {
    return (await call("GET", "/v1/maintenance")).windows;
  } catch (problem) {
    if (problem.status === 404) hasCalendar = false;
    return [];
  }
}

let hasMarket = true;
export async function market() {
  // A server without clusters has no market; it is asked once.
  if (!hasMarket) return null;
  try {
    return await call("GET", "/v1/market");
  } catch (problem) {
    if (problem.status === 404) hasMarket = false;
    return null;
  }
}
