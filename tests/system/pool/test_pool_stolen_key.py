# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""A stolen key of a board against the pool: answers sent elsewhere, headers that take away, and what makes no sense."""

from __future__ import annotations

import asyncio
import dataclasses
import hashlib
import json
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from eddy.core.errors import EddyError, InvalidRequest
from eddy.pool.agent.head_client import HeadClient
from eddy.pool.connection.connection import steadily
from eddy.pool.connection.streams import EVENTS, WORK
from eddy.pool.connection.tasks import ended
from eddy.pool.connection.transfer import Address, DamagedBlob, TransferSecret, sent
from eddy.pool.jetstream.blobs import PoolBlobs
from eddy.pool.jetstream.jobs import PoolJobs
from eddy.pool.mirror.flood_guard import LEASES, MOST, REQUESTS
from eddy.pool.records.record_json import to_json
from eddy.pool.records.records import PoolBoard, PoolJob
from eddy.pool.routes.rendering import render_job
from eddy.pool.servers.admission import MAX_BUFFERED
from nats.aio.client import Client as Nats
from pool_boards import DATA, SHA, Boards, fetched, objects_in, with_boards
from pool_kit import WAIT_S

FACTS = PoolBoard("b1", "k", 1, 1, ("a",), False, "s")
STREAMS = (
    *("KV_eddy_jobs", "KV_eddy_submissions", "KV_eddy_boards", "KV_eddy_keys", "KV_eddy_bytes"),
    *(WORK, EVENTS),
)
NEXT = "$JS.API.CONSUMER.MSG.NEXT.EDDY_WORK.board-b1"


async def kept(boards: Boards) -> dict[str, tuple[int, int]]:
    """Messages that each stream has, and the last of them."""
    found = {}
    for name in STREAMS:
        state = (await boards.link.js.stream_info(name)).state
        found[name] = (state.messages, state.last_seq)
    return found


def test_no_answer_goes_where_a_board_may_not_write(tmp_path: Path) -> None:
    """Whoever asks names the subject of the answer. The servers and heads write with rights of their own."""
    targets = (
        *("$KV.eddy_jobs.1", "$KV.eddy_keys.tenant.ada", "$KV.eddy_boards.b2", "eddy.events.ada.1", "eddy.work.b2"),
        *("$KV.eddy_bytes.ada.x", "$JS.API.STREAM.PURGE.KV_eddy_bytes", "$JS.API.STREAM.DELETE.KV_eddy_jobs"),
        *("eddy.gate.b2", "$JS.API.CONSUMER.DELETE.EDDY_WORK.board-b2", "_INBOX.b2.x.y"),
    )

    async def check(boards: Boards) -> None:
        async with boards.board("b1") as (nats, mine), boards.board("b2") as (_, other):
            await other.join(dataclasses.replace(FACTS, name="b2"))
            await mine.join(FACTS)
            before = await kept(boards)
            for target in targets:
                for subject, data in (
                    ("eddy.gate.b1", json.dumps({"what": "job", "job": boards.job.id}).encode()),
                    ("$KV.eddy_leases.b1", to_json(FACTS)),
                    (NEXT, b'{"batch": 1, "no_wait": true}'),
                    (NEXT, b"1"),
                ):
                    await nats.publish(subject, data, reply=target)
            await nats.flush()
            await asyncio.sleep(1.0)
            assert await kept(boards) == before
            assert await mine.placed_jobs() == [boards.job.id]
            assert await other.placed_jobs() == []
            assert (await boards.link.js.consumer_info(WORK, "board-b2")).name == "board-b2"

    with_boards(tmp_path, check)


def test_no_header_takes_anything_away(tmp_path: Path) -> None:
    async def check(boards: Boards) -> None:
        async with boards.board("b1") as (nats, _):
            before = await kept(boards)
            for rollup in ("all", "sub"):
                for subject in ("$KV.eddy_bytes.ada.x", "eddy.gate.b1", "$KV.eddy_leases.b1"):
                    await nats.publish(subject, b"x", headers={"Nats-Rollup": rollup})
            await nats.flush()
            await asyncio.sleep(0.5)
            assert await kept(boards) == before
            await boards.link.leases.put("b2", to_json(dataclasses.replace(FACTS, name="b2")))
            for rollup in ("all", "sub"):
                await nats.publish("$KV.eddy_leases.b1", to_json(FACTS), headers={"Nats-Rollup": rollup})
            await nats.flush()
            await asyncio.sleep(0.5)
            assert await boards.link.leases.get("b2")
        assert await fetched(PoolBlobs(boards.link), "ada", SHA) == DATA

    with patch("eddy.pool.connection.streams.LEASE_S", 600.0):  # no lease ends meanwhile, however slow the machine is
        with_boards(tmp_path, check)


def test_a_board_cannot_change_what_is_stored(tmp_path: Path) -> None:
    """Neither in place of a blob, nor before the tenant stores it; nothing of it stays."""

    async def check(boards: Boards) -> None:
        blobs, later = PoolBlobs(boards.link), hashlib.sha256(b"later").hexdigest()
        async with boards.board("b1") as (_, mine):
            about, proof = {"job": boards.job.id, "token": boards.job.token}, TransferSecret()
            before = await objects_in(boards.link)
            for sha in (SHA, later):  # both: it would tell what the tenant has
                for data, said in ((b"something else", 14), (b"later", 3), (b"late", 5), (b"", 5)):
                    ask = {**about, "sha256": sha, "bytes": said, "proof": proof.digest}
                    address = Address(**await mine._ask("output", **ask))
                    with pytest.raises(DamagedBlob):
                        await sent(mine._http, address, proof, data)
            for wrong in ({"bytes": -1}, {"bytes": 1 << 40}, {"sha256": "../x"}, {"bytes": "x"}, {"proof": "x"}):
                with pytest.raises(EddyError):
                    await mine._ask("output", **{**about, "sha256": later, "bytes": 1, "proof": proof.digest, **wrong})
            assert await objects_in(boards.link) == before
            name = await mine.put(boards.job, b"an output")
            assert await fetched(blobs, "ada", name) == b"an output"
            with pytest.raises(DamagedBlob):
                await blobs.put("ada", b"x", later)
            await blobs.put("ada", b"later")
            assert await fetched(blobs, "ada", later) == b"later"
            assert await fetched(blobs, "ada", SHA) == DATA

    with_boards(tmp_path, check)


def part(**wrong: Any) -> dict[str, Any]:
    return {"first": 0, "items": 1, "outputs": {}, "computed": True, "sent_bytes": 0, **wrong}


WRONG_COMMITS: tuple[dict[str, Any], ...] = (
    *({"took_s": took_s} for took_s in (float("nan"), float("inf"), -1.0, 1e300, "x", None)),
    {"kernel": {"name": 3}}, {"kernel": [1]}, {"part": []}, {"part": 3}, {"token": "x"}, {"job": "*"}, {"job": 1e400},
    {"part": part(items=0)}, {"part": part(items=1.5)}, {"part": part(items=5)}, {"part": part(first=-1)},
    {"part": part(outputs={str(n): SHA for n in range(1025)})}, {"more": "x" * (1 << 20)},
    {"part": part(outputs={"y": "x"})}, {"part": part(outputs={"y": "0" * 64})}, {"part": part(outputs=[])},
    {"part": part(sent_bytes=-1)}, {"part": part(computed=[])},
)  # fmt: skip
WRONG_WIDTHS: tuple[Any, ...] = (0, -1, 1 << 40, "x", None, [])
WRONG_ERRORS: tuple[Any, ...] = ([], "x", None, {}, {"code": 3}, {"code": "x", "message": ["y"]})


def test_what_makes_no_sense_is_not_kept(tmp_path: Path) -> None:
    """What a job's board says of it is shown to its tenant, and decides where others are placed."""

    async def check(boards: Boards) -> None:
        table, number = PoolJobs(boards.link), boards.job.id
        async with boards.board("b1") as (_, mine):
            await mine.report_started(boards.job)
            before = await table.job(number)
            good = {"job": number, "token": boards.job.token, "part": part(), "took_s": 1.0, "kernel": None}
            for wrong in WRONG_COMMITS:
                with pytest.raises(EddyError):
                    await mine._ask("committed", **{**good, **wrong})
            for wrong_error in WRONG_ERRORS:
                with pytest.raises(EddyError):
                    await mine._ask("failed", job=number, token=boards.job.token, error=wrong_error)
            for sent_wrong in ({"bytes": -1}, {"took_s": float("nan")}, {"given_bps": 1e300}):
                told = {"bytes": 1, "took_s": 1.0, "given_bps": 0.0, **sent_wrong}
                with pytest.raises(EddyError):
                    await mine._ask("sent", job=number, token=boards.job.token, **told)
            assert await table.job(number) == before
            assert (await mine.report_part(boards.job, part(), 1.0, None)).done == 1
            with pytest.raises(EddyError, match="other outputs"):
                await mine.report_part(boards.job, part(first=1, outputs={"x": SHA}), 1.0, None)
            error = {"code": "x", "cause": InvalidRequest.code, "message": "", "more": 1}
            shown = render_job(await mine.failed(boards.job, error), lambda told: told)
            assert shown.error is not None

    with_boards(tmp_path, check)


def test_a_board_that_lies_of_itself_keeps_no_head_from_placing(tmp_path: Path) -> None:
    lies: tuple[dict[str, Any], ...] = (
        *({"width": width} for width in WRONG_WIDTHS),
        *({"link_bps": bps} for bps in (-1.0, float("nan"), float("inf"), 1e300, "fast")),
        {"kind": []}, {"kind": "x" * 10_000}, {"applications": [["a"]]}, {"applications": 3}, {"running": ["x"]},
        {"running": [-1]}, {"load": -1}, {"slots": "x"}, {"session": {}}, {"modules": [{}]}, {"kernels": {}},
        {"of_a_later_release": "x" * (1 << 20)},
    )  # fmt: skip

    def said(**wrong: Any) -> bytes:
        return json.dumps({**dataclasses.asdict(FACTS), "name": "b2", **wrong}).encode()

    async def placed(boards: Boards) -> PoolJob:
        table = PoolJobs(boards.link)
        job = await table.submit("ada", {"application": "a", "batch": 1})
        deadline = asyncio.get_running_loop().time() + WAIT_S
        while not (now := await table.job(job.id)).board:
            assert asyncio.get_running_loop().time() < deadline
            await asyncio.sleep(0.05)
        return now

    async def check(boards: Boards) -> None:
        async with boards.board("b1") as (_, mine), boards.board("b2") as (nats, other):
            await mine.join(dataclasses.replace(FACTS, width=8))
            for lie in lies:
                await nats.publish("$KV.eddy_leases.b2", said(**lie))
                with pytest.raises(EddyError):
                    await other._ask("join", board=json.loads(said(**lie)))
            await nats.flush()
            await mine.renew(dataclasses.replace(FACTS, width=8))
            assert (await placed(boards)).board == "b1"
            assert "b2" not in boards.lead.mirror.boards
            await nats.publish("$KV.eddy_leases.b2", said(of_a_later_release=1, market={"of": "another"}))
            await mine.join(dataclasses.replace(FACTS, width=1))
            await other._ask("join", board=json.loads(said(of_a_later_release=1)))
            await placed(boards)
            assert boards.lead.mirror.boards["b2"].market == {}
            assert boards.lead.mirror.alive("b2")

    with_boards(tmp_path, check)


async def answered(board: HeadClient) -> list[int]:
    """What a board has. What comes in a flood may be left unanswered; a board asks again."""
    with patch("eddy.pool.agent.head_client.ANSWER_S", 5.0):
        return await asyncio.wait_for(steadily(board.placed_jobs), WAIT_S)


def test_a_board_that_floods_keeps_no_other_from_being_answered(tmp_path: Path) -> None:
    async def check(boards: Boards) -> None:
        async with boards.board("b1") as (nats, mine), boards.board("b2") as (_, other):
            await mine.join(FACTS)
            floods, deadline = boards.lead.mirror.floods, asyncio.get_running_loop().time() + WAIT_S
            while not floods.describe_flood("b1"):
                assert asyncio.get_running_loop().time() < deadline, floods.came
                for _ in range(500):
                    await nats.publish("eddy.gate.b1", b'{"what": "mine"}', reply="_INBOX.b1.x.y")
                await nats.flush()
                assert await answered(other) == []
            assert floods.describe_flood("b1").endswith(" requests a second")
            assert not floods.describe_flood("b2"), floods.came
            await asyncio.sleep(3.0)
            assert await answered(mine) == [boards.job.id], "once it sends no more"

    with patch("eddy.pool.mirror.flood_guard.WINDOW_S", 3.0), patch.dict(MOST, {REQUESTS: 100}):
        with_boards(tmp_path, check)


def test_a_board_that_sends_leases_without_end_is_named_and_others_are_heard_meanwhile(tmp_path: Path) -> None:
    """While leases waited for the disk, those of others stood behind the flood for minutes, or were refused."""

    async def flood(nats: Nats) -> None:
        lease = json.dumps({**dataclasses.asdict(FACTS), "name": "b2"}).encode()
        while True:
            for _ in range(200):
                await nats.publish("$KV.eddy_leases.b2", lease)
            await nats.flush(int(WAIT_S))

    async def check(boards: Boards) -> None:
        limits = json.loads(boards.server.config.read_text())["jetstream"]
        assert limits["max_buffered_msgs"] == MAX_BUFFERED
        mirror, deadline = boards.lead.mirror, asyncio.get_running_loop().time() + WAIT_S
        async with boards.board("b1") as (_, mine), boards.board("b2") as (nats, other):
            await steadily(lambda: other.join(FACTS))
            await steadily(lambda: mine.join(FACTS))
            flooding = asyncio.ensure_future(flood(nats))
            while not mirror.floods.describe_flood("b2"):
                assert asyncio.get_running_loop().time() < deadline, mirror.floods.came
                await asyncio.sleep(0.05)
            assert mirror.floods.describe_flood("b2").endswith(" leases a second")
            heard_s, came = mirror.heard.s, mirror.floods.came["b1", LEASES]
            while mirror.floods.came["b1", LEASES] < came + 3 or mirror.heard.s == heard_s:
                assert asyncio.get_running_loop().time() < deadline, mirror.floods.came
                await steadily(lambda: mine.renew(FACTS))
                await asyncio.sleep(0.2)  # as often as an honest board may
            assert not flooding.done()
            assert mirror.alive("b1")
            assert not mirror.floods.describe_flood("b1")
            (refused,) = (board for board in mirror.usable_boards if board.name == "b2")
            assert refused.drained.startswith("it floods the pool with ")
            await ended((flooding,))
            assert await answered(mine) == [boards.job.id]

    with_boards(tmp_path, check)
