"""The two ways of submissions beside each other: keys, bounds and bodies know no difference between them."""

from __future__ import annotations

import asyncio
import json
import random
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest
from eddy.api.rates import Rates
from eddy.api.short_connections import ShortProtocol, short_cut
from eddy.api.short_way import ShortWay
from eddy.api.submissions import JobSubmission

from .conftest import Server
from .test_short_way import ANSWERED, END, GOOD, LIMITS, SHA, TRIES, _served, _told, plain, post, say, ways

BODY = json.dumps(GOOD)
LEFT = "TE: trailers"
"""A header line that leaves a submission to the long way, and changes nothing else."""
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


async def _each(port: int, requests: Sequence[bytes]) -> list[bytes]:
    """What is answered to each of some requests on one connection."""
    told = await say(port, [part for request in requests for part in (request, ANSWERED)] + [END], pause_s=0.0)
    return [plain(each).lower() for each in re.split(rb"(?=HTTP/1\.1 \d{3} )", told)[1:-1]]


def _statuses(answers: bytes) -> list[int]:
    return [int(status) for status in re.findall(rb"HTTP/1\.1 (\d{3})", answers)]


@pytest.mark.anyio
async def test_bodies_are_answered_alike_one_after_the_other(start: Callable[..., Server]) -> None:
    dice = random.Random(325)
    bodies = [drawn(dice) for _ in range(300)]
    async with ways(start) as found:
        short, long = [await _each(port, [post(body) for body in bodies]) for port in found.ports]
        taken = found.short.hypervisor.taken_at_once
    assert len(short) == len(long) == len(bodies)
    for body, first, second in zip(bodies, short, long, strict=True):
        assert first == second, body
    assert 30 < taken < 270


@pytest.mark.anyio
async def test_odd_heads_are_answered_alike(start: Callable[..., Server]) -> None:
    async with ways(start) as found:
        for head in HEADS:
            for _ in range(TRIES):
                answers = [_told(await say(port, [head, END])) for port in found.ports]
                if answers[0] == answers[1]:
                    break
            assert answers[0] == answers[1], head


@pytest.mark.anyio
async def test_a_key_names_one_job_on_both_ways(start: Callable[..., Server]) -> None:
    one, other = BODY, json.dumps({**GOOD, "priority": 3})
    name = "Idempotency-Key: order-19"
    async with ways(start) as found:
        port = found.ports[0]
        parts = [post(one, name), ANSWERED, post(one, name, LEFT), ANSWERED, post(other, name), ANSWERED]
        parts += [post(other, name, LEFT), ANSWERED, post(one, name), ANSWERED, END]
        answers = await say(port, parts)
        assert _statuses(answers) == [202, 202, 409, 409, 202, 200]
        assert len(set(re.findall(rb"/v1/jobs/\d+\r", answers))) == 1
        assert found.short.hypervisor.taken_at_once == 3
        again = [post(one, "Idempotency-Key: order-20", *more) for _ in range(8) for more in ((), (LEFT,))]
        told = await asyncio.gather(*(say(port, [each, ANSWERED, END]) for each in again))
        assert [_statuses(each) for each in told] == [[202, 200]] * len(again)
        assert len({match for each in told for match in re.findall(rb"/v1/jobs/\d+\r", each)}) == 1
        assert found.short.store.jobs.tally.of("ada") == 2


@pytest.mark.anyio
async def test_a_key_that_was_revoked_ends_between_two_requests_of_a_connection(start: Callable[..., Server]) -> None:
    async with ways(start) as found:
        for more in ((), (LEFT,)):
            store = found.short.store
            async with found.short.client() as client:
                made = (await client.post("/v1/keys", json={"scope": "tenant"})).json()
            request = post(BODY, f"Authorization: Bearer {made['key']}", *more, without="Authorization")
            reader, writer = await asyncio.open_connection("127.0.0.1", found.ports[0])
            writer.write(request)
            head = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), 180)
            await reader.readexactly(int(re.search(rb"content-length: (\d+)", head)[1]))  # type: ignore[index]
            kept = store.jobs.tally.of("ada")
            async with found.short.client() as client:
                gone = await client.delete(f"/v1/keys/{made['id']}")
                assert gone.is_success, gone.text
            writer.write(request + END)
            answers = await asyncio.wait_for(reader.read(), 180)
            writer.close()
            assert _statuses(head) == [202]
            assert _statuses(answers) == [401, 200]
            assert store.jobs.tally.of("ada") == kept


@pytest.mark.anyio
async def test_both_ways_take_from_one_bucket(start: Callable[..., Server]) -> None:
    async with ways(start) as found:
        server = found.short
        server.app.state.context.rates = Rates(lambda: 0.0)
        ada = server.store.tenants.get("ada")
        server.store.tenants.put(replace(ada, quota=replace(ada.quota, max_requests_per_s=5.0)))
        parts = [part for more in ((), (LEFT,)) * 4 for part in (post(BODY, *more), ANSWERED)]
        assert _statuses(await say(found.ports[0], [*parts, END])) == [202] * 5 + [429] * 3 + [200]


@pytest.mark.anyio
async def test_a_refused_submission_is_counted_once(start: Callable[..., Server]) -> None:
    async with ways(start) as found:
        left = list[Any]()
        for server, port in zip(found.both, found.ports, strict=True):
            context = server.app.state.context
            context.rates, context.held.most_of_one = Rates(lambda: 0.0), 0
            ada = server.store.tenants.get("ada")
            server.store.tenants.put(replace(ada, quota=replace(ada.quota, max_requests_per_s=9.0)))
            assert _statuses(await say(port, [post(), ANSWERED, post(), ANSWERED, END])) == [429, 429, 200]
            context.held.most_of_one = 9
            told = await say(port, [part for _ in range(10) for part in (post(), ANSWERED)] + [END])
            left.append((_statuses(told), context.held._all))
    assert left[0] == left[1]


@pytest.mark.anyio
async def test_who_reads_no_answers_is_kept_waiting(start: Callable[..., Server]) -> None:
    server, made = start(), list[ShortProtocol]()
    await server.put(bytes(range(6)))
    connect = short_cut(ShortWay(server.app, JobSubmission), LIMITS)

    def noted(**arguments: Any) -> ShortProtocol:
        made.append(connect(**arguments))
        return made[-1]

    async with _served(server, noted) as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(post())
        assert b"202" in await asyncio.wait_for(reader.readuntil(b"\r\n"), 180)
        made[0].pause_writing()  # as the transport does, whose buffer is full
        writer.write(post())
        while server.store.jobs.tally.of("ada") < 2:
            await asyncio.sleep(0.01)
        assert server.hypervisor.taken_at_once == 1
        made[0].resume_writing()
        writer.write(post() + END)
        told = await asyncio.wait_for(reader.read(), 180)
        writer.close()
    assert _statuses(told) == [202, 202, 200]
