# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Every kind of fault is counted where it happens, and told to the operator by metric, overview and `eddy top`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from eddy.api.service.clock_jumps import watch_clock
from eddy.cli.top.frame import FrameData, frame
from eddy.core.clock_jumps import ClockJumpDetector
from eddy.core.errors import StorageFailed, StorageFull
from eddy.core.faults import Fault
from eddy.core.records import JobEvent, JobEventKind
from eddy.host import presence
from eddy.store import Store
from eddy.store.db.rows import Commit

pytestmark = pytest.mark.anyio
EVENTS = (
    (JobEventKind.ITEM_FAILED, "time-limit after 5 ms", Fault.HUNG_MODULE),
    (JobEventKind.ITEM_FAILED, "write-outside-window", Fault.FIREWALL_TRIP),
    (JobEventKind.ITEM_FAILED, "module-error 3", Fault.MODULE_FAULT),
    (JobEventKind.ITEM_FAILED, "stopped", None),
    (JobEventKind.ITEM_FAILED, "stream-lost the stream it reads ended early", None),
    (JobEventKind.CONFIGURATION_FAILED, "configuration-error", Fault.FAILED_LOAD),
    (JobEventKind.ITEM_DONE, "", None),
)


@pytest.mark.parametrize(("what", "detail", "fault"), EVENTS)
def test_what_happens_to_items_and_loads_is_counted(what: JobEventKind, detail: str, fault: Fault | None) -> None:
    store = Store(":memory:")
    store.commit(Commit(events=(JobEvent(0, 1, "ada", 1.0, what, slot=0, detail=detail),)))
    assert dict(store.happened.faults) == ({} if fault is None else {fault.value: 1})


def test_a_trouble_of_the_disk_counts_once_while_it_lasts() -> None:
    store = Store(":memory:")
    for _ in range(3):
        store.failed(StorageFull("the disk is full"))
    store.failed(StorageFailed("the disk says no"))
    assert dict(store.happened.faults) == {"full-disk": 1, "storage-failed": 1}


def test_a_server_that_died_is_known_by_what_it_left(tmp_path: Path) -> None:
    with presence.announce_server(tmp_path, "http://one") as died:
        assert not died
        left = (tmp_path / presence.FILE).read_bytes()
    with presence.announce_server(tmp_path, "http://two") as died:
        assert not died, "it ended in order"
    (tmp_path / presence.FILE).write_bytes(left)
    with presence.announce_server(tmp_path, "http://three") as died:
        assert died
        assert json.loads((tmp_path / presence.FILE).read_text())["url"] == "http://three"


async def test_jumps_of_the_wall_clock_are_counted_and_its_discipline_is_not() -> None:
    wall_s, noted = [0.0, 0.5, 100.5, 100.6, 40.0], list[int]()
    told = iter(wall_s)
    clock = ClockJumpDetector(lambda: next(told), lambda: 0.0)
    assert [round(clock.measure_jump(), 3) for _ in wall_s[1:]] == [0.0, 100.0, 0.0, -60.6]
    steps = [50.0, 0.0]
    with pytest.raises(IndexError):
        await watch_clock(lambda: noted.append(1), ClockJumpDetector(lambda: steps.pop(), lambda: 0.0), 0.0)
    assert noted == [1]


async def test_an_upload_that_breaks_is_counted(server: Any) -> None:
    messages: list[dict[str, Any]] = [
        {"type": "http.disconnect"},
        {"type": "http.request", "body": b"abc", "more_body": True},
    ]
    scope = {
        **{"type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": "PUT", "scheme": "http"},
        **{"path": f"/v1/blobs/{'0' * 64}", "raw_path": b"", "query_string": b"", "root_path": ""},
        "headers": [(b"authorization", b"Bearer eddy_ada"), (b"content-length", b"9")],
        **{"server": ("eddy", 80), "client": ("here", 1)},
    }

    async def receive() -> dict[str, Any]:
        return messages.pop()

    async def send(message: Any) -> None:
        pass

    await server.app(scope, receive, send)
    assert dict(server.store.happened.faults) == {"broken-upload": 1}
    assert server.store.blobs.ledger.total() == 0


async def test_the_operator_is_told_and_a_tenant_is_not(server: Any) -> None:
    for _ in range(2):
        server.store.happened.fault(Fault.SLOW_CLIENT)
    server.store.happened.fault(Fault.BOARD_AWAY)
    said = {}
    for who in ("ada", "operator"):
        async with server.client(who) as client:
            said[who] = (await client.get("/v1/overview")).json()
            metrics = (await client.get("/metrics")).text
    assert (said["ada"]["faults"], said["operator"]["faults"]) == ({}, {"slow-client": 2, "board-away": 1})
    assert '\neddy_faults_total{fault="slow-client"} 2.0' in metrics
    lines = [(line.text, line.style) for line in frame(FrameData("http://eddy", said["operator"]))]
    assert ("faults since the start: 1 board-away, 2 slow-client", "bad") in lines
    assert not any("faults" in line.text for line in frame(FrameData("http://eddy", said["ada"])))
