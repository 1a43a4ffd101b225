# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Sessions of a tenant that means harm, over real HTTP: every attack is refused, and a neighbour notices nothing."""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from urllib.parse import urlsplit

import numpy as np
import pytest
from eddy.api.service.server import Server, ServerSettings
from eddy.client import Client
from eddy.client.calls.sessions import Session, SessionFailed
from eddy.core.errors import EddyError, InvalidRequest, NotFound, QuotaExceeded
from eddy.core.frames import MEDIA_TYPE, pack_frame, split_frame
from eddy.core.tenants import Quota, TenantRecord
from eddy.hypervisor.intake.kernels import KernelLimits
from eddy.hypervisor.sessions.directory import MAX_BUFFERS
from eddy.store.account_tables.usage import UsageRow, day_of
from eddy.store.board_tables.sessions import MAX_OPEN
from kernel_kit import kernel_board
from unit.gpu_kit import CACHE

ROOT = Path(__file__).parents[3]
SMALL = 1 << 20
FRAME = {"Content-Type": MEDIA_TYPE}
SOURCE = "kernel void f(global uint *x) { x[get_global_id(0)] += 1; }"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder, limits = tmp_path_factory.mktemp("data"), KernelLimits(4, 5e-2, waves=8)
    settings = ServerSettings(
        "model", "tiny", "fcfs", folder, ROOT / "bitstreams", port=0, kernels=limits, kernel_cache=CACHE
    )
    with Server(settings, board=kernel_board(arena=8 << 20)).background() as running:
        yield running


@pytest.fixture(scope="module")
def keys(server: Server) -> dict[str, str]:
    with Client(server.url, server.key_file.read_text().strip()) as operator:
        return {name: operator.add_tenant(name)["key"] for name in ("ada", "mallory")}


@pytest.fixture
def mallory(server: Server, keys: dict[str, str]) -> Iterator[Client]:
    with Client(server.url, keys["mallory"], retries=0) as client:
        yield client


@pytest.fixture
def session(mallory: Client) -> Iterator[Session]:
    opened = mallory.open_session(memory_bytes=SMALL)
    yield opened
    opened.close()


@pytest.fixture(autouse=True)
def neighbour(server: Server, keys: dict[str, str]) -> Iterator[None]:
    """Works before the attack and after it, on memory it had all the time."""
    with Client(server.url, keys["ada"]) as client, client.open_session(memory_bytes=SMALL) as session:
        x, kernel = session.buffer(64), session.program(SOURCE).kernel("f")
        session.fill(x, bytes(4))
        session.launch(kernel, 16, (x,)).wait()
        yield
        session.launch(kernel, 16, (x,))
        assert [*np.frombuffer(session.read(x).result(), "<u4")] == [2] * 16


def test_a_buffer_is_not_used_after_its_release_nor_made_twice(session: Session) -> None:
    x, kernel = session.buffer(64), session.program(SOURCE).kernel("f")
    x.release()
    uses = [session.read(x), session.write(x, b"abcd"), session.fill(x, b"a"), session.copy(x, x)]
    uses += [session.launch(kernel, 4, (x,)), x.release()]
    for use in uses:
        with pytest.raises(SessionFailed):
            use.wait()
        assert use.error is not None
        assert use.error[0] == "not-found"


def test_ranges_that_leave_a_buffer_are_refused(session: Session) -> None:
    x, y = session.buffer(64), session.buffer(64)
    wrong = [
        session.read(x, 0, 65),
        session.read(x, 1 << 29, 4),
        session.write(x, b"abcd", 61),
        session.copy(x, y, 0, 1, 64),
        session.read_box(x, (4, 4, 5), (8, 16)),
        session.launch(session.program(SOURCE).kernel("f"), 4, (x.at(1 << 31),)),
    ]
    for event in wrong:
        with pytest.raises(SessionFailed):
            event.wait()
        assert event.error is not None
        assert event.error[0] == "invalid-request"


def test_more_buffers_than_may_be_are_refused_and_the_others_work(session: Session) -> None:
    made = [session.buffer(4) for _ in range(10_000)]
    with pytest.raises(SessionFailed):
        session.finish()
    codes = [each.created.error[0] if each.created.error else "" for each in made]
    assert codes.count("") == MAX_BUFFERS
    assert set(codes[MAX_BUFFERS:]) == {"quota-exceeded"}
    session.fill(made[0], b"abcd")
    assert session.read(made[0]).result() == b"abcd"


def test_what_is_anothers_is_as_if_it_were_not_there(server: Server, keys: dict[str, str], mallory: Client) -> None:
    with Client(server.url, keys["ada"]) as ada, ada.open_session(memory_bytes=SMALL) as hers:
        for method, path in (("GET", ""), ("DELETE", ""), ("POST", "/commands"), ("POST", "/programs")):
            body = {"content": pack_frame({}), "headers": {"Content-Type": MEDIA_TYPE}}
            asked = {"body": {"source": SOURCE}} if path == "/programs" else body if path else {}
            with pytest.raises(NotFound, match="There is no session"):
                mallory.transport.request(method, f"/v1/sessions/{hers.token}{path}", **asked)
        assert hers.show()["state"] == "resident"
    listed = mallory.transport.json("GET", "/v1/sessions", params={"tenant": "ada"})["sessions"]
    assert {each["tenant"] for each in listed} <= {"mallory"}


def test_a_budget_that_is_used_up_holds_in_sessions_too(server: Server, mallory: Client, session: Session) -> None:
    program = session.program(SOURCE).id
    before = server.store.tenants.get("mallory")
    launch = {"n": 1, "do": "launch", "program": program, "kernel": "f", "global": [1], "arguments": []}
    path = f"/v1/sessions/{session.token}/commands"
    with bounded(server, before, Quota(max_core_s=1.0)):
        server.store.usage.add([UsageRow(day_of(time.time()), "mallory", 1, "core", 2 * 10**9)], {})
        with pytest.raises(QuotaExceeded, match="GPU cores"):
            mallory.transport.request("POST", path, content=pack_frame({"commands": [launch]}), headers=FRAME)
        with pytest.raises(QuotaExceeded, match="GPU cores"):
            mallory.open_session(memory_bytes=SMALL)
        x = session.buffer(4)
        session.fill(x, b"abcd")
        assert session.read(x).result() == b"abcd", "what it holds it can fetch"
    session.launch(session.program(SOURCE).kernel("f"), 1, (x,)).wait()


@contextmanager
def bounded(server: Server, tenant: TenantRecord, quota: Quota) -> Iterator[None]:
    server.store.tenants.put(replace(tenant, quota=quota))
    yield
    server.store.tenants.put(tenant)


WRONG = [
    *(b"", b"\xff" * 64, pack_frame([]), pack_frame({"commands": 5}), pack_frame({"wait_s": 1e9})),
    pack_frame({"x": 1}),
    pack_frame({"commands": [{"n": 1, "do": "write", "buffer": 1, "bytes": 1 << 30}]}, [b"short"]),
    pack_frame({"commands": [{"n": 1, "do": "marker"}] * 600}),
    pack_frame({"commands": [{"n": 1 << 50, "do": "marker"}]}),
]


@pytest.mark.parametrize("body", WRONG, ids=range(len(WRONG)))
def test_a_body_that_is_no_batch_is_refused(session: Session, body: bytes) -> None:
    before = session.show()["launches"]
    with pytest.raises(InvalidRequest):
        session._client.transport.request("POST", f"/v1/sessions/{session.token}/commands", content=body, headers=FRAME)
    session.marker().wait()
    assert session.show()["launches"] == before


def test_whatever_bytes_a_batch_has_the_server_answers(session: Session) -> None:
    good = pack_frame({"commands": [{"n": 1, "do": "create", "buffer": 1, "bytes": 64}], "wait_s": 0.1})
    path = f"/v1/sessions/{session.token}/commands"
    for seed in range(60):
        bad = bytearray(good)
        for at in os.urandom(4):
            bad[at % len(bad)] = seed
        try:
            answer = session._client.transport.request("POST", path, content=bytes(bad), headers=FRAME)
        except EddyError as error:
            assert error.code in ("invalid-request", "malformed-json", "quota-exceeded")  # noqa: PT017
        else:
            assert split_frame(answer.content)[0].startswith(b'{"life"')


def test_more_sessions_than_may_be_are_refused(mallory: Client) -> None:
    opened = [mallory.open_session(memory_bytes=SMALL) for _ in range(MAX_OPEN)]
    with pytest.raises(QuotaExceeded, match="close one"):
        mallory.open_session(memory_bytes=SMALL)
    for each in opened:
        each.close()


def test_a_client_that_is_killed_in_a_request_harms_nobody(
    server: Server, session: Session, keys: dict[str, str]
) -> None:
    address, key = urlsplit(server.url), keys["mallory"]
    for size in (0, 3, 40):
        with socket.create_connection((address.hostname, address.port or 80)) as cut:
            head = (
                f"POST /v1/sessions/{session.token}/commands HTTP/1.1\r\nHost: x\r\n"
                f"Authorization: Bearer {key}\r\nContent-Type: {MEDIA_TYPE}\r\nContent-Length: 100\r\n\r\n"
            )
            cut.sendall(head.encode() + pack_frame({"commands": [{"n": 1, "do": "marker"}]})[:size])
    session.marker().wait()
    session.finish()
