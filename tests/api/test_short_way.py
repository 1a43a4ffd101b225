"""Submissions on the short way are answered as on the long one, whatever is sent and however it arrives.

Two servers over real sockets, which differ in nothing but their connections, are sent the same bytes; the long way, by
h11 and FastAPI, says what is right.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import random
import re
import socket
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import anyio
import pytest
import uvicorn
from eddy.api.connections import ConnectionLimits, guarded
from eddy.api.rates import Rates
from eddy.api.short_connections import short_cut
from eddy.api.short_way import ShortWay
from eddy.api.submissions import JobSubmission
from eddy.core.errors import StorageFull
from eddy.core.tenants import Quota

from .conftest import Server

LIMITS = ConnectionLimits(patience_s=1.0)
END = b"GET /healthz HTTP/1.1\r\nHost: eddy\r\nConnection: close\r\n\r\n"
"""Sent behind everything: what it is taken for shows where the request before it was thought to end."""
ANSWERED = b"(one answer has come)"
TRIES = 6
"""Times two answers may differ: what is no HTTP behind a request ends the connection, and its answer may be cut off."""
VARYING = re.compile(
    rb"date: [^\r]*|content-length: \d+|(x-request-id: |beside |\"request_id\":\")[0-9a-f]{16}"
    rb"|\"submitted_unix_s\":[0-9.]+",
    re.IGNORECASE,
)
"""What no two answers share."""


@dataclass
class Ways:
    """The same server twice, by the short way and by the long one."""

    short: Server
    long: Server
    ports: tuple[int, int]

    @property
    def both(self) -> tuple[Server, Server]:
        return self.short, self.long


@contextlib.asynccontextmanager
async def _served(parts: Server, http: Any) -> AsyncIterator[int]:
    listener = socket.create_server(("127.0.0.1", 0))
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
async def ways(start: Callable[..., Server], max_jobs: int = 1000) -> AsyncIterator[Ways]:
    both = start(), start()
    for server in both:
        ada = server.store.tenants.get("ada")
        server.store.tenants.put(replace(ada, quota=Quota(max_jobs=max_jobs, max_blob_bytes=1000)))
        await server.put(bytes(range(6)))
    way = ShortWay(both[0].app, JobSubmission)
    async with _served(both[0], short_cut(way, LIMITS)) as first, _served(both[1], guarded(LIMITS)) as second:
        yield Ways(*both, (first, second))


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


SHORT = {
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
"""What takes the short way; some of it is refused when it is let in."""
LONG = {
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
"""What is left to the long way."""


@pytest.mark.anyio
async def test_both_ways_answer_the_same(start: Callable[..., Server]) -> None:
    async with ways(start) as found:
        for name, request in {**SHORT, **LONG}.items():
            before = found.short.hypervisor.taken_at_once
            for _ in range(1 if name in SHORT else TRIES):
                behind = [ANSWERED, END] if name in SHORT else [END]
                answers = [plain(await say(port, [request, *behind])) for port in found.ports]
                if answers[0].lower() == answers[1].lower():
                    break
            assert answers[0].lower() == answers[1].lower(), name
            assert found.short.hypervisor.taken_at_once - before == (name in SHORT), name
        kept = [server.store.jobs.tally.of("ada") for server in found.both]
    assert min(kept) > len(SHORT) // 2


@pytest.mark.anyio
async def test_however_it_arrives(start: Callable[..., Server]) -> None:
    request = post(json.dumps(GOOD), "Idempotency-Key: x")
    head = request.index(b"\r\n\r\n") + 4
    cases = {
        "head, then body": ([request[:head], request[head:], ANSWERED, END], (1, 1)),
        "cut in the body": ([request[: head + 9], request[head + 9 :], ANSWERED, END], (1, 1)),
        "cut in the head": ([request[:50], request[50:], ANSWERED, END], (0, 1)),
        "three parts": ([request[:head], request[head:-1], request[-1:], ANSWERED, END], (0, 1)),
        "two at once": ([request + post(), END], (0, 0)),
        "one after the other": ([request, ANSWERED, post(), ANSWERED, post(), ANSWERED, END], (3, 3)),
        "the end of one with the next": ([request[:head], request[head:] + post(), END], (0, 0)),
        "byte by byte": ([*(request[place : place + 1] for place in range(len(request))), ANSWERED, END], (0, 1)),
        "the body never comes": ([request[:head]], (0, 0)),
        "the next before the answer": ([request + END], (0, 0)),
    }
    """With how many take the short way: a busy machine may read several parts at once."""
    async with ways(start) as found:
        for name, (parts, (least, most)) in cases.items():
            pause_s = 0.001 if len(parts) > 9 else 0.05
            for _ in range(TRIES):  # somebody may look, and leave the rest to h11, just between two parts
                before = found.short.hypervisor.taken_at_once
                answers = await asyncio.gather(*(say(port, parts, pause_s) for port in found.ports))
                assert plain(answers[0]).lower() == plain(answers[1]).lower(), name
                taken = found.short.hypervisor.taken_at_once - before
                if taken >= least:
                    break
            assert least <= taken <= most, name


@pytest.mark.anyio
async def test_what_comes_behind_a_submission_waits_for_its_answer(start: Callable[..., Server]) -> None:
    async with ways(start) as found:
        gate = found.short.hypervisor.gate = anyio.Event()
        reader, writer = await asyncio.open_connection("127.0.0.1", found.ports[0])
        writer.write(post())
        while not found.short.hypervisor.taken_at_once:
            assert not reader.at_eof(), await reader.read()
            await asyncio.sleep(0.01)
        writer.write(post() + END)
        await asyncio.sleep(0.1)
        assert found.short.hypervisor.taken_at_once == 1
        gate.set()
        answer = await asyncio.wait_for(reader.read(), 180)
        writer.close()
    assert re.findall(rb"HTTP/1.1 (\d+)", answer) == [b"202", b"202", b"200"]


@pytest.mark.anyio
async def test_damaged_requests_are_read_alike(start: Callable[..., Server]) -> None:
    """Nobody gets one of the ways to see the end of a request elsewhere than the other does."""
    dice = random.Random(285)
    pieces = [b"\r\n", b"\n", b"\r", b" ", b"\t", b":", b"0", b"1", b"\0", b"\xff", b"Content-Length: 5\r\n", END]
    damaged = list[bytes]()
    for _ in range(200):
        request = bytearray(dice.choice(list(SHORT.values())))
        for _ in range(dice.choice((1, 1, 2, 3))):
            place = dice.randrange(len(request))
            cut = dice.choice((0, 0, 1, 2))
            piece = dice.choice((b"", *pieces))
            request[place : place + (len(piece) if dice.random() < 0.5 else cut)] = piece
        damaged.append(bytes(request))
    async with ways(start) as found:
        for begin in range(0, len(damaged), 25):
            unlike = damaged[begin : begin + 25]
            for _ in range(TRIES):
                answers = await asyncio.gather(*(say(port, [each, END]) for each in unlike for port in found.ports))
                pairs = zip(unlike, answers[::2], answers[1::2], strict=True)
                unlike = [each for each, short, long in pairs if _told(short) != _told(long)]
                if not unlike:
                    break
            assert not unlike
        assert found.short.hypervisor.taken_at_once > 5


def _told(answers: bytes) -> list[tuple[bytes, bytes]]:
    """Status and code of each answer."""
    return re.findall(rb"HTTP/1\.1 (\d+)(?:(?!HTTP/1\.1).)*?(?:\"code\": ?\"([a-z-]+)\"|$)", answers, re.DOTALL)


@pytest.mark.anyio
async def test_bounds_hold_and_count_once(start: Callable[..., Server]) -> None:
    async with ways(start, max_jobs=3) as found:
        for server in found.both:
            server.app.state.context.rates = Rates(lambda: 0.0)
            ada = server.store.tenants.get("ada")
            server.store.tenants.put(replace(ada, quota=replace(ada.quota, max_requests_per_s=6.0)))
        answers = [[plain(await say(port, [post(), ANSWERED, END])) for _ in range(8)] for port in found.ports]
        held = [server.app.state.context.held._all for server in found.both]
    assert [each.lower() for each in answers[0]] == [each.lower() for each in answers[1]]
    statuses = [int(each[9:12]) for each in answers[0]]
    assert statuses == [202] * 3 + [429] * 5
    assert b"quota-exceeded" in answers[0][3]
    assert b"rate-limited" in answers[0][7]
    assert held == [0, 0]


@pytest.mark.anyio
@pytest.mark.parametrize("failure", [StorageFull("no room in /secret"), RuntimeError("unforeseen")])
async def test_what_fails_inside_is_answered_and_logged_as_ever(
    start: Callable[..., Server], failure: Exception
) -> None:
    async with ways(start) as found:
        for server in found.both:
            server.hypervisor.broken = failure
        answers = [plain(await say(port, [post(), ANSWERED, END])) for port in found.ports]
        served = found.short.app.state.metrics.render()[0].decode()
    assert answers[0].lower() == answers[1].lower()
    assert b"/secret" not in answers[0]
    status = answers[0][9:12].decode()
    assert f'eddy_http_requests_total{{method="POST",route="/v1/jobs",status="{status}"}} 1.0' in served


@pytest.mark.anyio
async def test_a_server_that_ends_answers_what_it_took(start: Callable[..., Server]) -> None:
    async with ways(start) as found:
        found.short.hypervisor.gate = gate = anyio.Event()
        asking = asyncio.create_task(say(found.ports[0], [post()]))
        while not found.short.hypervisor.taken_at_once:
            assert not asking.done(), asking.result()
            await asyncio.sleep(0.01)
    answer = await asking  # nobody let it in: it was refused before the connection was left
    gate.set()
    assert answer.startswith(b"HTTP/1.1 503")
    assert b'"server-stopping"' in answer
    assert b"connection: close" in answer
