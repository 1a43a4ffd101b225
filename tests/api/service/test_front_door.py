# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""One way in: whatever is sent, and however it arrives, comes to the route, and is answered in order."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import itertools
import json
import random
import re
import socket
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
import numpy as np
import pytest
import uvicorn
from api.conftest import Server
from eddy.api.access.request_limits import TokenBuckets
from eddy.api.http.connections import MAX_PART, ConnectionLimits, Connections, GuardedProtocol, guard_connections
from eddy.api.request_bodies.jobs import JobSubmission
from eddy.api.routes import jobs
from eddy.cli.main import app as command
from eddy.client import Client
from eddy.core.errors import InvalidRequest, StorageFull
from eddy.core.tenants import Quota
from typer.testing import CliRunner

pytestmark = pytest.mark.anyio
LIMITS = ConnectionLimits(patience_s=30.0)
END = b"GET /healthz HTTP/1.1\r\nHost: eddy\r\nConnection: close\r\n\r\n"
"""Sent behind everything: what it is taken for shows where the request before it was thought to end."""
ANSWERED = b"(one answer has come)"
VARYING = re.compile(
    rb"date: [^\r]*|content-length: \d+|(x-request-id: |beside |\"request_id\":\")[0-9a-f]{16}"
    rb"|\"submitted_unix_s\":[0-9.]+",
    re.IGNORECASE,
)
"""What no two answers share."""


@contextlib.asynccontextmanager
async def listening(parts: Server, http: Any = None) -> AsyncIterator[int]:
    """The port at which an application is served."""
    listener = socket.create_server(("127.0.0.1", 0))
    http = http or guard_connections(LIMITS)
    config = uvicorn.Config(parts.app, http=http, lifespan="off", log_level="error", timeout_graceful_shutdown=3)
    server = uvicorn.Server(config)
    task = asyncio.create_task(server.serve(sockets=[listener]))
    try:
        while not server.started:
            await asyncio.sleep(0.01)
        yield listener.getsockname()[1]
    finally:
        parts.app.state.context.ending.set()
        server.should_exit = True
        await task


@contextlib.asynccontextmanager
async def served(start: Callable[..., Server], max_jobs: int = 1000) -> AsyncIterator[tuple[Server, int]]:
    """A server and its port; the input of `GOOD` is there."""
    server = start()
    ada = server.store.tenants.get("ada")
    server.store.tenants.put(replace(ada, quota=Quota(max_jobs=max_jobs, max_blob_bytes=1000, max_priority=9)))
    await server.put(bytes(range(6)))
    async with listening(server) as port:
        yield server, port


async def say(port: int, parts: Sequence[bytes], pause_s: float = 0.02) -> bytes:
    """What a server answers, until it closes, to what comes part by part; at `ANSWERED` one answer is waited for."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    found = b""
    with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
        for part in parts:
            if part is ANSWERED:
                head = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), 180)
                found += head
                found += await reader.readexactly(int(re.search(rb"(?i)content-length: (\d+)", head)[1]))  # type: ignore[index]
                continue
            writer.write(part)
            await writer.drain()
            await asyncio.sleep(pause_s)
    with contextlib.suppress(ConnectionError):
        found += await asyncio.wait_for(reader.read(), 180)
    writer.close()
    return found


def plain(answer: bytes) -> bytes:
    """An answer without what no two share."""
    return VARYING.sub(b"", answer)


SHA = "17e88db187afd62c16e5debf3e6527cd006bc012bc90b51a810cd80c2d511f43"
"""Of the bytes 0 to 5."""
GOOD = {"application": "invert", "inputs": {"image": [SHA]}}


def post(body: str | bytes = json.dumps(GOOD), *lines: str, without: str = "", path: str = "/v1/jobs") -> bytes:
    """A submission, with more header lines, or without one."""
    data = body.encode() if isinstance(body, str) else body
    usual = {
        "Host": "eddy",
        "Authorization": "Bearer eddy_ada",
        "Content-Type": "application/json",
        "Content-Length": str(len(data)),
    }
    head = [f"{name}: {value}" for name, value in usual.items() if name != without]
    return "\r\n".join([f"POST {path} HTTP/1.1", *head, *lines, "", ""]).encode() + data


TAKEN = {
    "usual": post(),
    "named": post(json.dumps(GOOD), "Idempotency-Key: order-17"),
    "named request": post(json.dumps(GOOD), "X-Request-Id: mine-1"),
    "unfit name of the request": post(json.dumps(GOOD), "X-Request-Id: not mine"),
    "kept": post(json.dumps(GOOD), "Connection: Keep-Alive"),
    "other headers": post(json.dumps(GOOD), "Cookie: eddy_session=x", "X-CSRF-Token: y", "User-Agent: z", "Accept:*/*"),
    "spaces": post(json.dumps(GOOD), "Idempotency-Key:\t order-18 \t"),
    "character set": post(json.dumps(GOOD), "content-type: application/json; charset=utf-8", without="Content-Type"),
    "lower case": post(json.dumps(GOOD), "authorization: bearer eddy_ada", without="Authorization"),
    "all of it": post(
        json.dumps({**GOOD, "batch": 1, "priority": 3, "labels": {"a": "b"}, "deadline_s": 2.5, "late": "end"})
    ),
    "a whole number with a point": post(json.dumps({**GOOD, "batch": 1.0})),
    "no such application": post(json.dumps({"application": "nothing"})),
    "no such blob": post(json.dumps({"application": "invert", "inputs": {"image": ["0" * 64]}})),
    "waits for nothing there is": post(json.dumps({**GOOD, "after": [77]})),
}
"""What is let in, or refused when it would be."""
ODD = {
    "unknown field": post(json.dumps({**GOOD, "colour": 1})),
    "wrong type": post(json.dumps({**GOOD, "batch": "2"})),
    "too important": post(json.dumps({**GOOD, "priority": 2})),
    "neither": post("{}"),
    "a list": post("[]"),
    "not JSON": post("{"),
    "twice": post('{"application": "invert", "application": "invert"}'),
    "half a pair": post('{"application": "\\ud800"}'),
    "not UTF-8": post(b'{"application": "\xff"}'),
    "deep": post("[" * 40 + "]" * 40),
    "nothing": post(""),
    "too much": post(json.dumps({**GOOD, "labels": {"a": "b" * 5000}})),
    "late without a deadline": post(json.dumps({**GOOD, "late": "end"})),
    "unfit key": post(json.dumps(GOOD), "Idempotency-Key: a b"),
    "empty key": post(json.dumps(GOOD), "Idempotency-Key:"),
    "long key": post(json.dumps(GOOD), f"Idempotency-Key: {'k' * 129}"),
    "two keys": post(json.dumps(GOOD), "Idempotency-Key: a", "Idempotency-Key: b"),
    "nobody's": post(json.dumps(GOOD), "Authorization: Bearer eddy_nobody", without="Authorization"),
    "nobody": post(without="Authorization"),
    "another scheme": post(json.dumps(GOOD), "Authorization: Basic eddy_ada", without="Authorization"),
    "two words": post(json.dumps(GOOD), "Authorization: Bearer eddy ada", without="Authorization"),
    "twice asked": post(json.dumps(GOOD), "Authorization: Bearer eddy_grace"),
    "a type": post(json.dumps(GOOD), "Content-Type: text/plain", without="Content-Type"),
    "no type": post(without="Content-Type"),
    "a coding": post(json.dumps(GOOD), "Content-Encoding: gzip"),
    "no host": post(without="Host"),
    "two hosts": post(json.dumps(GOOD), "Host: other"),
    "a dry run": post(path="/v1/jobs?dry_run=true"),
    "closed": post(json.dumps(GOOD), "Connection: close"),
    "an offer": post(json.dumps(GOOD), "Connection: Upgrade", "Upgrade: h2c"),
    "both lengths": post(json.dumps(GOOD), "Transfer-Encoding: chunked"),
    "two lengths": post(json.dumps(GOOD), "Content-Length: 3"),
    "a signed length": post(json.dumps(GOOD), f"Content-Length: +{len(json.dumps(GOOD))}", without="Content-Length"),
    "a list of lengths": post(json.dumps(GOOD), "Content-Length: 71, 71", without="Content-Length"),
    "no length": post(without="Content-Length"),
    "a space before the colon": post(json.dumps(GOOD), "Idempotency-Key : x"),
    "a folded line": post(json.dumps(GOOD), "X-Long: a\r\n b"),
    "a bare line feed": post().replace(b"Host: eddy\r\n", b"Host: eddy\n"),
    "a bare return": post(json.dumps(GOOD), "X-Cut: a\rContent-Length: 1"),
    "a null": post(json.dumps(GOOD), "X-Null: \0"),
    "not ASCII": post(json.dumps(GOOD)).replace(b"Host: eddy", b"Host: edd\xff"),
    "a small method": post().replace(b"POST", b"post"),
    "an old protocol": post().replace(b"HTTP/1.1", b"HTTP/1.0"),
    "an absolute address": post(path="http://eddy/v1/jobs"),
    "a slash more": post(path="/v1/jobs/"),
    "an escape": post(path="/v1/%6aobs"),
}
"""What something is uncommon about."""


NUMBERS = (
    "0",
    "-0",
    "1",
    "1.0",
    "1e0",
    "1.5",
    "-1",
    "1e999",
    "NaN",
    "Infinity",
    str(1 << 63),
    str(1 << 64),
    "01",
    "true",
)
TEXTS = ('""', '"a"', '"\\u0000"', '"\\ud800"', '"\\ud83d\\ude00"', f'"{"x" * 65}"', '"a\\nb"', '"caf\u00e9"')
OTHERS = ("null", "[]", "{}", "[1]", "[1, 1]", '["a"]', '{"a": "b"}', '{"a": null}', '{"": ""}', f'["{SHA}"]', "[[]]")
VALUES = (*NUMBERS, *TEXTS, *OTHERS)
FIELDS = tuple(JobSubmission.model_fields)
BODY = json.dumps(GOOD)
CHUNKED = post("", "Transfer-Encoding: chunked").replace(b"Content-Length: 0\r\n", b"")
"""A head whose body comes in chunks."""
HEADS = (
    post(BODY, "Authorization: Bearer  eddy_ada", without="Authorization"),
    post(BODY, "Authorization: Bearer\teddy_ada", without="Authorization"),
    post(BODY, "Authorization: Bearer eddy_ada,", without="Authorization"),
    post(BODY, "Authorization: Bearer", without="Authorization"),
    post(BODY, f"Content-Length: 00{len(BODY)}", without="Content-Length"),
    post(BODY, f"Content-Length: {len(BODY)}", f"content-length: {len(BODY)}", without="Content-Length"),
    post(BODY, f"Content-Length: {'9' * 30}", without="Content-Length"),
    post(BODY, f"CONTENT-LENGTH: \t{len(BODY)}\t ", without="Content-Length"),
    post(BODY, "Connection: keep-alive, close"),
    post(BODY, "Connection: keep-alive", "Connection: close"),
    post(BODY, "Proxy-Connection: close", "Keep-Alive: timeout=1"),
    post(BODY, "Transfer-Encoding: identity"),
    post(BODY, "Transfer-Encoding:"),
    post(BODY, "Transfer-Encoding : chunked"),
    post(BODY, "Transfer_Encoding: chunked"),
    post(BODY, "X-HTTP-Method-Override: DELETE", "X-Forwarded-For: 10.0.0.1", "X-Forwarded-Proto: https"),
    post(BODY, "Host: ", without="Host"),
    post(BODY, "Host: a, b", without="Host"),
    post(BODY, ": x"),
    post(BODY, *(f"X-{number}: y" for number in range(300))),
    post(BODY, f"X-Long: {'y' * 9000}"),
    post().replace(b"POST /v1/jobs HTTP/1.1\r\n", b"POST /v1/jobs HTTP/1.1\r\n X: y\r\n"),
    post().replace(b"POST /v1/jobs HTTP/1.1", b"POST  /v1/jobs HTTP/1.1"),
    post().replace(b"POST /v1/jobs HTTP/1.1", b"POST\t/v1/jobs HTTP/1.1"),
    post().replace(b"HTTP/1.1", b"HTTP/1.2"),
    b"\r\n" + post(),
    b"\r\n\r\n" + post(),
    *(post(path=path) for path in ("//v1/jobs", "/v1/jobs?", "/v1/jobs#x", "/v1/jobs;x", "/v1/./jobs", "/V1/jobs")),
)


def drawn(dice: random.Random) -> str:
    """A body of which some fields are missing or have values of other kinds."""
    fields = {**{name: json.dumps(value) for name, value in GOOD.items()}, "labels": '{"a": "b"}', "priority": "3"}
    for _ in range(dice.choice((0, 1, 1, 2))):
        fields[dice.choice((*FIELDS, "inputs", "colour"))] = dice.choice(VALUES)
    fields.pop(dice.choice(FIELDS), None)
    pairs = [f'"{name}": {value}' for name, value in fields.items()]
    return "{" + ", ".join(pairs + pairs[: dice.random() < 0.05]) + "}"


CASES = {**TAKEN, **ODD, **{f"head {place}": head for place, head in enumerate(HEADS)}}


EXPECTED = {
    "usual": "202, 200",
    "named": "202, 200",
    "named request": "202, 200",
    "unfit name of the request": "202, 200",
    "kept": "202, 200",
    "other headers": "202, 200",
    "spaces": "422 invalid-request, 200",
    "character set": "202, 200",
    "lower case": "202, 200",
    "all of it": "202, 200",
    "a whole number with a point": "202, 200",
    "no such application": "422 invalid-request, 200",
    "no such blob": "422 invalid-request, 200",
    "waits for nothing there is": "422 invalid-request, 200",
    "unknown field": "422 invalid-request, 200",
    "wrong type": "422 invalid-request, 200",
    "too important": "422 invalid-request, 200",
    "neither": "422 invalid-request, 200",
    "a list": "422 invalid-request, 200",
    "not JSON": "400 malformed-json, 200",
    "twice": "400 malformed-json, 200",
    "half a pair": "422 invalid-request, 200",
    "not UTF-8": "400 malformed-json, 200",
    "deep": "400 malformed-json, 200",
    "nothing": "422 invalid-request, 200",
    "too much": "413 payload-too-large",
    "late without a deadline": "422 invalid-request, 200",
    "unfit key": "422 invalid-request, 200",
    "empty key": "422 invalid-request, 200",
    "long key": "422 invalid-request, 200",
    "two keys": "400 bad-request",
    "nobody's": "401 unauthorized, 200",
    "nobody": "401 unauthorized, 200",
    "another scheme": "401 unauthorized, 200",
    "two words": "401 unauthorized, 200",
    "twice asked": "400 bad-request",
    "a type": "415 unsupported-media-type, 200",
    "no type": "415 unsupported-media-type, 200",
    "a coding": "415 unsupported-media-type, 200",
    "no host": "400 bad-request",
    "two hosts": "400 bad-request",
    "a dry run": "200, 200",
    "closed": "202",
    "an offer": "202, 200",
    "both lengths": "400 bad-request",
    "two lengths": "400 bad-request",
    "a signed length": "400 bad-request",
    "a list of lengths": "400 bad-request",
    "no length": "422 invalid-request, 400 bad-request",
    "a space before the colon": "400 bad-request",
    "a folded line": "400 bad-request",
    "a bare line feed": "400 bad-request",
    "a bare return": "400 bad-request",
    "a null": "400 bad-request",
    "not ASCII": "202, 200",
    "a small method": "400 bad-request",
    "an old protocol": "202",
    "an absolute address": "202, 200",
    "a slash more": "404 not-found, 200",
    "an escape": "202, 200",
    "head 0": "202, 200",
    "head 1": "401 unauthorized, 200",
    "head 2": "401 unauthorized, 200",
    "head 3": "401 unauthorized, 200",
    "head 4": "202, 200",
    "head 5": "400 bad-request",
    "head 6": "400 bad-request",
    "head 7": "202, 200",
    "head 8": "202",
    "head 9": "202",
    "head 10": "202",
    "head 11": "400 bad-request",
    "head 12": "400 bad-request",
    "head 13": "400 bad-request",
    "head 14": "202, 200",
    "head 15": "202, 200",
    "head 16": "202, 200",
    "head 17": "202, 200",
    "head 18": "400 bad-request",
    "head 19": "202, 200",
    "head 20": "202, 200",
    "head 21": "400 bad-request",
    "head 22": "202, 200",
    "head 23": "400 bad-request",
    "head 24": "400 bad-request",
    "head 25": "202, 200",
    "head 26": "202, 200",
    "head 27": "404 not-found, 200",
    "head 28": "202, 200",
    "head 29": "400 bad-request",
    "head 30": "404 not-found, 200",
    "head 31": "404 not-found, 200",
    "head 32": "404 not-found, 200",
}


def apart(answers: bytes) -> list[bytes]:
    return re.split(rb"(?=HTTP/1\.1 \d{3} )", answers)[1:]


def statuses(answers: bytes) -> list[int]:
    return [int(answer[9:12]) for answer in apart(answers)]


def told(answers: bytes) -> list[str]:
    """Status and code of each answer."""
    codes = [re.search(rb'"code": ?"([a-z-]+)"', answer) for answer in apart(answers)]
    return [
        answer[9:12].decode() + (f" {code[1].decode()}" if code else "")
        for answer, code in zip(apart(answers), codes, strict=True)
    ]


async def each(port: int, requests: Sequence[bytes]) -> list[bytes]:
    """What is answered to each of some requests on one connection."""
    answers = await say(port, [part for request in requests for part in (request, ANSWERED)] + [END], pause_s=0.0)
    return [plain(one).lower() for one in apart(answers)[:-1]]


def cut(request: bytes, dice: random.Random) -> list[bytes]:
    """A request in pieces."""
    places = sorted({0, len(request), *(dice.randrange(len(request)) for _ in range(dice.choice((1, 2, 5))))})
    return [request[begin:end] for begin, end in itertools.pairwise(places)]


async def test_every_request_is_answered_as_it_should_be(start: Callable[..., Server]) -> None:
    async with served(start) as (server, port):
        found = {name: ", ".join(told(await say(port, [request + END]))) for name, request in CASES.items()}
        assert found == EXPECTED
        assert server.app.state.context.in_flight._all == 0


async def _cut(port: int, request: bytes, dice: random.Random, whole: list[str]) -> None:
    """Answers are the same where a request, and the one behind it, arrive in pieces.

    Whoever sends on when the connection was closed on what he sent may not get the answer that said so.
    """
    parts = cut(request + END, dice)
    pieces = told(await say(port, parts, pause_s=0.002))
    closed = whole[-1] != "200" and whole[: len(pieces)] == pieces
    assert pieces == whole or closed, parts


async def test_it_does_not_matter_how_a_request_arrives(start: Callable[..., Server]) -> None:
    dice = random.Random(285)
    async with served(start) as (_, port):
        for name, request in CASES.items():
            await _cut(port, request, dice, EXPECTED[name].split(", "))
        by_bytes = [post()[place : place + 1] for place in range(len(post()))]
        assert told(await say(port, [*by_bytes, END], pause_s=0.0)) == ["202", "200"]


async def test_damaged_requests_are_read_alike(start: Callable[..., Server]) -> None:
    """Nobody sees the end of a request elsewhere because of how it arrives."""
    dice = random.Random(286)
    pieces = [b"\r\n", b"\n", b"\r", b" ", b"\t", b":", b"0", b"1", b"\0", b"\xff", b"Content-Length: 5\r\n", END]
    good = 0
    async with served(start) as (server, port):
        for _ in range(100):
            request = bytearray(dice.choice(list(TAKEN.values())))
            for _ in range(dice.choice((1, 1, 2, 3))):
                place, cut_off = dice.randrange(len(request)), dice.choice((0, 0, 1, 2))
                piece = dice.choice((b"", *pieces))
                request[place : place + (len(piece) if dice.random() < 0.5 else cut_off)] = piece
            before = server.hypervisor.asked
            await _cut(port, bytes(request), dice, told(await say(port, [bytes(request) + END])))
            good += server.hypervisor.asked > before
    assert 5 < good < 95


async def test_requests_before_an_answer_are_answered_in_order(start: Callable[..., Server]) -> None:
    async with served(start) as (server, port):
        server.hypervisor.gate = anyio.Event()
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(post() + post(path="/v1/jobs/") + post("{") + post() + b"no HTTP\r\n\r\n" + END)
        while not server.hypervisor.asked:
            await asyncio.sleep(0.01)
        writer.write(post())
        await asyncio.sleep(0.1)
        assert server.hypervisor.asked == 1, "the others wait for the first answer"
        server.hypervisor.gate.set()
        answer = await asyncio.wait_for(reader.read(), 180)
        writer.close()
    assert told(answer) == ["202", "404 not-found", "400 malformed-json", "202", "400 bad-request"]


async def test_a_client_that_leaves_ends_the_request_that_is_answered_too(start: Callable[..., Server]) -> None:
    """Not only the last that came: another one came behind it."""
    async with served(start) as (server, port):
        job = await server.submit()
        _, writer = await asyncio.open_connection("127.0.0.1", port)
        wait = b"GET /v1/jobs/%d?wait=60 HTTP/1.1\r\nHost: eddy\r\nAuthorization: Bearer eddy_ada\r\n\r\n" % job["id"]
        writer.write(wait + post())
        held = server.app.state.context.in_flight
        with anyio.fail_after(180):
            while not held._all:
                await asyncio.sleep(0.01)
            writer.close()
            while held._all:
                await asyncio.sleep(0.01)
        assert server.hypervisor.asked == 1, "what came behind it was never begun"


@pytest.mark.parametrize(
    "sent",
    [
        b"POST /v1/jobs HTTP/1.1\r\nHost: eddy\r\nX: " + b"y" * 4 * MAX_PART,
        CHUNKED + b"1;x=" + b"y" * 4 * MAX_PART,
        CHUNKED + b"0\r\nX: " + b"y" * 4 * MAX_PART,
    ],
    ids=["head", "chunk's line", "lines behind a body"],
)
async def test_lines_that_do_not_end_are_refused(start: Callable[..., Server], sent: bytes) -> None:
    async with served(start) as (server, port):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        answer = asyncio.create_task(reader.read())
        with contextlib.suppress(ConnectionError):
            for begin in range(0, len(sent), 1 << 14):
                writer.write(sent[begin : begin + (1 << 14)])
                await writer.drain()
                await asyncio.sleep(0.001)
        with contextlib.suppress(ConnectionError):
            assert told(await asyncio.wait_for(answer, 180)) in ([], ["400 bad-request"])
        writer.close()
        assert server.hypervisor.asked == 0


async def test_lines_behind_a_body_say_nothing(start: Callable[..., Server]) -> None:
    body = b"%x\r\n%b\r\n0\r\nAuthorization: Bearer eddy_ada\r\n\r\n" % (len(BODY), BODY.encode())
    head = CHUNKED.replace(b"Authorization: Bearer eddy_ada\r\n", b"")
    async with served(start) as (server, port):
        assert told(await say(port, [head, body, END])) == ["401 unauthorized", "200"]
        assert server.hypervisor.asked == 0


async def test_a_stream_in_http_1_0_has_no_chunks_and_ends_with_the_connection(start: Callable[..., Server]) -> None:
    async with served(start) as (server, port):
        job = await server.submit()
        server.hypervisor.finish(server.store.jobs.get("ada", job["id"]), result=bytes(6))
        ask = f"GET {job['links']['events']} HTTP/1.0\r\nAuthorization: Bearer eddy_ada\r\n\r\n"
        head, _, body = (await say(port, [ask.encode()])).partition(b"\r\n\r\n")
        plain_answer = await say(port, [f"GET {job['links']['self']} HTTP/1.0\r\n{ask.partition(chr(10))[2]}".encode()])
    assert head.startswith(b"HTTP/1.1 200")
    assert b"chunked" not in head.lower()
    assert body.startswith((b"id:", b"event:", b"retry:", b":"))
    assert body.rstrip().splitlines()[-1].startswith(b"data: ")
    assert json.loads(plain_answer.partition(b"\r\n\r\n")[2])["id"] == job["id"]


async def test_bounds_hold_and_count_once(start: Callable[..., Server]) -> None:
    async with served(start, max_jobs=3) as (server, port):
        context = server.app.state.context
        context.rates, context.in_flight.most_of_one = TokenBuckets(lambda: 0.0), 0
        ada = server.store.tenants.get("ada")
        server.store.tenants.put(replace(ada, quota=replace(ada.quota, max_requests_per_s=6.0)))
        assert statuses(await say(port, [post(), ANSWERED, post(), ANSWERED, END])) == [429, 429, 200]
        context.in_flight.most_of_one = 9
        found = told(await say(port, [part for _ in range(8) for part in (post(), ANSWERED)] + [END]))
        assert context.in_flight._all == 0
    assert found == ["202"] * 3 + ["429 quota-exceeded"] * 3 + ["429 rate-limited"] * 2 + ["200"]


@pytest.mark.parametrize("failure", [StorageFull("no room in /secret"), RuntimeError("unforeseen")])
async def test_what_fails_inside_is_answered_and_counted(start: Callable[..., Server], failure: Exception) -> None:
    async with served(start) as (server, port):
        server.hypervisor.broken = failure
        answer = await say(port, [post(), ANSWERED, END])
        figures = server.app.state.metrics.render()[0].decode()
    status = statuses(answer)[0]
    assert status in (500, 507)
    assert b"/secret" not in answer
    assert b"x-request-id: " in answer
    assert f'eddy_http_requests_total{{method="POST",route="/v1/jobs",status="{status}"}} 1.0' in figures


async def test_a_server_that_ends_answers_what_it_took(start: Callable[..., Server]) -> None:
    async with served(start) as (server, port):
        server.hypervisor.gate = gate = anyio.Event()
        asking = asyncio.create_task(say(port, [post()]))
        while not server.hypervisor.asked:
            await asyncio.sleep(0.01)
    answer = await asking  # nobody let it in: it was refused before the connection was left
    gate.set()
    assert told(answer) == ["503 server-stopping"]
    assert b"connection: close" in answer


async def test_bodies_are_answered_one_after_the_other_as_on_connections_of_their_own(
    start: Callable[..., Server],
) -> None:
    dice = random.Random(325)
    requests = [post(drawn(dice)) for _ in range(60)]
    async with served(start) as (server, port):
        kept = await each(port, requests)
        alone = [plain(apart(await say(port, [request, ANSWERED, END]))[0]).lower() for request in requests]
        taken = server.hypervisor.asked
    number = re.compile(rb"(?<=/v1/jobs/)\d+|(?<=\"id\":)\d+")
    assert [number.sub(b"", one) for one in kept] == [number.sub(b"", one) for one in alone]
    assert 10 < taken < 110


async def test_a_key_names_one_job(start: Callable[..., Server]) -> None:
    name = "Idempotency-Key: order-19"
    async with served(start) as (server, port):
        parts = [
            part for body in (BODY, BODY, json.dumps({**GOOD, "priority": 3}), BODY) for part in (post(body, name),)
        ]
        answers = await say(port, [*parts, END])
        assert statuses(answers) == [202, 202, 409, 202, 200]
        assert len(set(re.findall(rb"/v1/jobs/\d+\r", answers))) == 1
        again = [say(port, [post(BODY, "Idempotency-Key: order-20"), ANSWERED, END]) for _ in range(16)]
        found = await asyncio.gather(*again)
        assert [statuses(one) for one in found] == [[202, 200]] * 16
        assert len({match for one in found for match in re.findall(rb"/v1/jobs/\d+\r", one)}) == 1
        assert server.store.jobs.tally.count_tenant("ada") == 2


async def test_a_key_that_was_revoked_ends_between_two_requests_of_a_connection(start: Callable[..., Server]) -> None:
    async with served(start) as (server, port):
        async with server.client() as client:
            made = (await client.post("/v1/keys", json={"scope": "tenant"})).json()
        request = post(BODY, f"Authorization: Bearer {made['key']}", without="Authorization")
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(request)
        head = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), 180)
        await reader.readexactly(int(re.search(rb"content-length: (\d+)", head)[1]))  # type: ignore[index]
        async with server.client() as client:
            gone = await client.delete(f"/v1/keys/{made['id']}")
            assert gone.is_success, gone.text
        writer.write(request + END)
        answers = await asyncio.wait_for(reader.read(), 180)
        writer.close()
        assert statuses(head) == [202]
        assert statuses(answers) == [401, 200]
        assert server.store.jobs.tally.count_tenant("ada") == 1


async def test_who_reads_no_answers_is_kept_waiting(start: Callable[..., Server]) -> None:
    server, made, connections = start(), list[GuardedProtocol](), Connections(LIMITS)
    await server.put(bytes(range(6)))

    def noted(**arguments: Any) -> GuardedProtocol:
        made.append(GuardedProtocol(connections, **arguments))
        return made[-1]

    async with listening(server, noted) as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(post())
        assert b"202" in await asyncio.wait_for(reader.readuntil(b"\r\n"), 180)
        made[0].pause_writing()  # as the transport does, whose buffer is full
        writer.write(post())
        while server.store.jobs.tally.count_tenant("ada") < 2:
            await asyncio.sleep(0.01)
        writer.write(post() + END)
        await asyncio.sleep(0.1)
        assert server.hypervisor.asked == 2
        made[0].resume_writing()
        answers = await asyncio.wait_for(reader.read(), 180)
        writer.close()
    assert statuses(answers) == [202, 202, 200]


SENT: dict[str, Sequence[bytes]] = {
    "usual": [post()],
    "kept": [END.replace(b"close", b"keep-alive"), ANSWERED, post()],
    "behind another": [END.replace(b"close", b"keep-alive") + post()],
    "body apart": [post()[: -len(BODY)], post()[-len(BODY) :]],
    "in chunks": [
        CHUNKED,
        b"%x\r\n%b\r\n0\r\n\r\n" % (len(BODY), BODY.encode()),
    ],
    "?query": [post(path="/v1/jobs?dry_run=false")],
    "empty query": [post(path="/v1/jobs?")],
    "escaped": [post(path="/v1/%6aobs")],
    "absolute": [post(path="http://eddy/v1/jobs")],
    "HTTP/1.0": [post().replace(b"HTTP/1.1", b"HTTP/1.0")],
    "waits for 100": [post(BODY, "Expect: 100-continue")],
    "offers another protocol": [post(BODY, "Connection: Upgrade", "Upgrade: h2c")],
    "close": [post(BODY, "Connection: close")],
    "named": [post(BODY, "Idempotency-Key: order-21", "X-Request-Id: mine")],
    "named again": [post(BODY, "Idempotency-Key: order-21")],
}


async def test_a_rule_of_the_route_holds_for_each_way_of_sending(
    start: Callable[..., Server], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    met, submit = list[str](), jobs.submit

    @functools.wraps(submit)
    async def ruled(**values: Any) -> Any:
        met.append(values["tenant"].id)
        raise InvalidRequest("The rule was met.", field="labels")

    async with served(start) as (_, port):
        for name, parts in SENT.items():
            assert 202 in statuses(await say(port, [*parts[:-1], parts[-1] + END])), name
    monkeypatch.setattr(jobs, "submit", ruled)
    monkeypatch.setattr(jobs, "router_for", jobs.router_for.__wrapped__)  # routes are made once for all servers
    async with served(start) as (server, port):
        for name, parts in SENT.items():
            answers = await say(port, [*parts[:-1], parts[-1] + END])
            assert b"The rule was met." in answers, name
            assert b"HTTP/1.1 202" not in answers, name

        def by_client_and_command() -> None:
            image = tmp_path / "image.npy"
            np.save(image, np.zeros((1, 2, 3), "u1"))
            url, key = f"http://127.0.0.1:{port}", server.keys["ada"]
            with Client(url, key) as client, pytest.raises(InvalidRequest, match=r"The rule was met\."):
                client.submit("invert", {"image": np.load(image)})
            words = ["submit", "invert", "-i", f"image={image}", "--no-wait", "--url", url, "--key", key]
            done = CliRunner().invoke(command, words)
            assert done.exit_code, done.output
            assert "The rule was met." in done.output

        await anyio.to_thread.run_sync(by_client_and_command)
        assert server.store.jobs.tally.count_tenant("ada") == 0
        assert met == ["ada"] * (len(SENT) + 2)
