# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What is another tenant's is answered as what does not exist: every address that changes something, with both."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx
import pytest
from eddy.core.frames import pack_frame
from eddy.core.leases import LeaseRecord
from eddy.core.notices import NoticeKind, Subscription
from eddy.core.projects import Project
from eddy.core.sessions import SessionRecord
from eddy.store import Store
from eddy.store.tables.notices import Notice, new_delivery

pytestmark = pytest.mark.anyio
CHANGING = ("post", "put", "patch", "delete")
HERS = b"thesis"
BLOB, UPLOAD, NO_BLOB = (hashlib.sha256(data).hexdigest() for data in (HERS, b"parts of it", b"nobody's"))
PART = {"Upload-Offset": "0", "Upload-Complete": "?0"}
NO_NUMBER = 4_000_000
"""A number no job has."""
OPERATORS = {
    *("add_app", "add_tenant", "change_tenant", "remove_tenant", "purge_jobs"),
    *("drain_slot", "set_policy", "set_price_policy", "plan_maintenance", "cancel_maintenance"),
    *("add_project", "change_project", "remove_project"),
}
"""These take 403 before anything is looked up."""
OWN = {
    "log_in": "opens a session with a key",
    "log_out": "ends the session it is asked in",
    "fetch_sign_on_key": "is good for whoever has code and verifier",
    "start_session": "opens one of one's own",
    "ask_for_lease": "asks for one of one's own",
    "subscribe": "makes a subscription of one's own",
}
"""These name nothing that could be somebody else's."""
HEADERS_OF_ONE_ANSWER = {"x-request-id", "date", "content-length", "server-timing"}
ZEROS = "0" * 16
MANIFEST = {"sha256": ZEROS * 4, "module": "m", "build": ZEROS, "shell": ZEROS, "slot": 0, "bytes": 4, "clk_hz": 1.0}


class Things:
    """What one tenant has, by the names of the parameters that would take it; and what nobody has."""

    def __init__(self, hers: dict[str, str], nobodys: dict[str, str]) -> None:
        self.hers, self.nobodys = hers, nobodys


async def things(server: Any) -> Things:
    """Jobs (one that ended and is held), an array, blobs, parts of one and a key, all of ada's."""
    waiting = (await server.submit())["id"]
    ended = (await server.submit())["id"]
    server.hypervisor.finish(server.store.jobs.get("ada", ended), result=bytes(6))
    await server.put(HERS)
    async with server.client() as ada:
        assert (await ada.put(f"/v1/jobs/{ended}/hold")).json()["held_by"] == "tenant"
        assert (await ada.patch(f"/v1/blobs/{UPLOAD}/upload", content=b"parts", headers=PART)).status_code == 204
        each = [{"inputs": {"image": [await server.put(bytes(6))]}}]
        array = await ada.post("/v1/arrays", json={"job": {"application": "invert"}, "each": each})
        key = await ada.post("/v1/keys", json={"label": "ci"})
    hers = {"job": str(waiting), "held": str(ended), "array": str(array.json()["id"])}
    told = server.store.notices.add(Subscription("n1", "ada", "https://hooks.example.org", (NoticeKind.TEST,)))
    server.store.notices.add_delivery(new_delivery(told, Notice(NoticeKind.TEST, None, {}, 1.0), 1e12))
    (message,) = server.store.notices.deliveries("n1", 1)
    session = server.store.sessions.add(lambda name: SessionRecord(0, name, "ada"))
    lease = server.store.leases.add(lambda name: LeaseRecord(0, name, "ada"), 1)
    hers |= {"lease": lease.id}
    hers |= {"subscription": "n1", "delivery": message.id, "window": "w1", "session": session.id}
    hers |= {"sha256": BLOB, "upload": UPLOAD, "key": key.json()["id"], "tenant": "ada", "project": "vision"}
    server.store.projects.put(Project("vision", 1.0, ("ada",)))
    nobodys = {"job": str(NO_NUMBER), "held": str(NO_NUMBER), "array": str(NO_NUMBER)}
    nobodys |= {"subscription": "n0", "delivery": "msg_0", "window": "w0", "session": "s0", "lease": "l0"}
    return Things(
        hers, {**nobodys, "sha256": NO_BLOB, "upload": NO_BLOB, "key": "k0", "tenant": "eve", "project": "chips"}
    )


def operations(server: Any) -> Iterator[tuple[str, str, str]]:
    """Every operation that changes something: name, method, path."""
    for path, by in server.app.openapi()["paths"].items():
        for method, operation in by.items():
            if method in CHANGING:
                yield operation["operationId"], method, path


def wanted(name: str, path: str, thing: dict[str, str]) -> list[dict[str, Any]]:
    """What to ask with an operation that would concern a thing, as `httpx` takes it, address included."""
    takes = dict(thing)
    if path.endswith("/hold"):
        takes["job"] = thing["held"]
    if path.endswith("/upload"):
        takes["sha256"] = thing["upload"]
    url = path.format_map({**takes, "slot": "0"})
    job = {"application": "invert", "inputs": {"image": [thing["sha256"]]}}
    own = {"application": "invert", "inputs": {"image": [hashlib.sha256(bytes(range(6))).hexdigest()]}}
    number = int(thing["job"])
    bodies: dict[str, list[dict[str, Any]]] = {
        "submit_job": [
            {"json": job},
            {"json": job, "params": {"dry_run": "true"}},
            {"json": {**own, "after": [number]}},
        ],
        "submit_array": [
            {"json": {"job": {"application": "invert"}, "each": [{"inputs": job["inputs"]}]}},
            {"json": {"job": {"application": "invert", "after": [number]}, "each": [{"inputs": own["inputs"]}]}},
        ],
        "make_key": [{"json": {"replaces": thing["key"]}}, {"json": {"tenant": thing["tenant"]}}],
        "append_blob": [{"content": b"", "headers": {**PART, "Upload-Offset": "5"}}],
        "put_blob": [{"content": b"not what its name says"}],
        "add_app": [{"json": {"application": "mine"}}],
        "add_tenant": [{"json": {"id": "ada"}}],
        "change_tenant": [{"json": {"weight": 2}}],
        "add_project": [{"json": {"id": thing["project"]}}],
        "change_project": [{"json": {"share": 2}}],
        "purge_jobs": [{"json": {"older_than_s": 0, "tenant": thing["tenant"]}}],
        "drain_slot": [{"json": {"drained": True}}],
        "build_program": [{"json": {"source": "kernel void f(void) {}"}}],
        "send_commands": [{"content": pack_frame({})}],
        "extend_lease": [{"json": {"more_s": 60}}],
        "load_leased_slot": [{"json": {"module": "dct"}}],
        "load_own_image": [{"json": {"manifest": MANIFEST, "wait_s": 0}}],
        "access_leased_registers": [{"json": {"accesses": [[16, 1]]}}],
        "await_leased_interrupt": [{"json": {"wait_s": 0}}],
        "write_leased_memory": [{"params": {"offset": 0}, "content": b"mine"}],
        "plan_maintenance": [{"json": {"title": "x", "begins_unix_s": 1e10, "lasts_s": 1}}],
        "set_policy": [{"json": {"policy": "fcfs"}}],
        "set_price_policy": [{"json": {"policy": "market"}}],
    }
    return [{"url": url, **body} for body in bodies.get(name, [{}])]


def plain(answer: httpx.Response, thing: dict[str, str]) -> tuple[int, dict[str, str], str]:
    """An answer without what was asked for in it, and without what differs from request to request."""
    kept = {name: value for name, value in answer.headers.items() if name not in HEADERS_OF_ONE_ANSWER}
    text = answer.text.replace(answer.headers.get("x-request-id", "-"), "REQUEST")
    named = "|".join(map(re.escape, thing.values()))
    return answer.status_code, kept, re.sub(rf"\b({named})\b", "IT", text)


async def everything(server: Any) -> list[Any]:
    """What ada has, as she sees it."""
    async with server.client() as ada:
        shown = [(await ada.get(path)).json() for path in ("/v1/jobs", "/v1/blobs", "/v1/keys", "/v1/quota")]
        return [*shown, dict((await ada.head(f"/v1/blobs/{UPLOAD}/upload")).headers)["upload-offset"]]


async def test_anothers_is_answered_as_what_is_not_there_by_every_operation_that_changes_something(
    server: Any,
) -> None:
    have = await things(server)
    await server.put(bytes(range(6)), "grace")
    before = await everything(server)
    tried = set()
    async with server.client("grace") as grace:
        for name, method, path in operations(server):
            if name in OWN:
                continue
            tried.add(name)
            pairs = zip(wanted(name, path, have.hers), wanted(name, path, have.nobodys), strict=True)
            for hers, nobodys in pairs:
                there = await grace.request(method.upper(), **hers)
                not_there = await grace.request(method.upper(), **nobodys)
                assert plain(there, have.hers) == plain(not_there, have.nobodys), (name, hers)
                assert there.status_code in allowed(name), (name, there.text)
    assert await everything(server) == before
    assert len(tried) >= 18


def allowed(name: str) -> tuple[int, ...]:
    """The statuses an operation has for what is not there.

    A body that names it is 422; parts that follow none are 409; bytes that are not what their name says are 422.
    """
    if name in OPERATORS:
        return (403,)
    return {
        "submit_job": (422,),
        "submit_array": (422,),
        "put_blob": (422,),
        "append_blob": (409,),
        "make_key": (403, 404),
    }.get(name, (404,))


async def test_bytes_another_has_are_taken_like_bytes_nobody_has(server: Any) -> None:
    await things(server)
    data = (HERS, b"nobody's")
    async with server.client("grace") as grace:
        answers = [await grace.put(f"/v1/blobs/{hashlib.sha256(each).hexdigest()}", content=each) for each in data]
    assert [answer.status_code for answer in answers] == [201, 201]
    assert answers[0].headers.keys() == answers[1].headers.keys()


@contextmanager
def statements(store: Store) -> Iterator[list[str]]:
    """What SQLite is asked meanwhile, without values: the work behind an answer, whatever the clock says."""
    asked: list[str] = []

    def note(statement: str) -> None:
        asked.append(re.sub(r"'(?:[^']|'')*'|\bx'[^']*'|\b\d+(\.\d+)?\b", "?", statement, flags=re.IGNORECASE))

    store.database._connection.set_trace_callback(note)
    try:
        yield asked
    finally:
        store.database._connection.set_trace_callback(None)


def readings(server: Any, thing: dict[str, str]) -> Iterator[tuple[str, str]]:
    """Every operation that looks at one of a tenant's things, with the addresses to ask."""
    fields = {**thing, "name": "result"}
    for path, by in server.app.openapi()["paths"].items():
        parameters = set(re.findall(r"{(\w+)}", path))
        if "get" in by and parameters & thing.keys() and parameters <= fields.keys():
            for job in (thing["job"], thing["held"]):
                yield by["get"]["operationId"], path.format_map({**fields, "job": job})


async def test_anothers_is_looked_up_as_what_is_not_there_with_the_same_statements(server: Any) -> None:
    """The time of an answer tells nothing: the store does the same work for what is another's and what is nobody's."""
    have, compared = await things(server), Counter[str]()
    await server.put(bytes(range(6)), "grace")

    async with server.client("grace") as grace:

        async def work(method: str, how: dict[str, Any]) -> list[str]:
            with statements(server.store) as asked:
                assert (await grace.request(method.upper(), **how)).status_code >= 400
            return asked

        for name, method, path in operations(server):
            if name in OWN or name == "put_blob":  # bytes are kept whoever has them; nothing is looked up for others
                continue
            for hers, nobodys in zip(wanted(name, path, have.hers), wanted(name, path, have.nobodys), strict=True):
                there, not_there = await work(method, hers), await work(method, nobodys)
                assert there == not_there, (name, hers)
                compared[name] += len(there)
        both = zip(readings(server, have.hers), readings(server, have.nobodys), strict=True)
        for (name, hers_url), (_, nobodys_url) in both:
            there, not_there = await work("get", {"url": hers_url}), await work("get", {"url": nobodys_url})
            assert there == not_there, (name, hers_url)
            compared[name] += len(there)
    looked_up = {
        "show_job",
        "cancel_job",
        "explain_job",
        "follow_job",
        "fetch_output",
        "fetch_log",
        "show_array",
        "fetch_blob",
    }
    assert looked_up <= {name for name, count in compared.items() if count}, compared
