# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Sessions over real HTTP, on a model board whose clusters compute: results, order, batches, ends, others' sessions."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from eddy.api.service.server import Server, ServerSettings
from eddy.client import Client
from eddy.client.calls.sessions import BufferImage, Local, Session, SessionFailed
from eddy.core.errors import CompilationFailed, InvalidRequest, NotFound
from eddy.core.frames import MEDIA_TYPE, pack_frame, split_frame
from eddy.hypervisor.intake.kernels import KernelLimits
from kernel_kit import kernel_board
from unit.gpu_kit import CACHE

ROOT = Path(__file__).parents[3]
SOURCE = """
kernel void scale(global uint *x, uint by) { x[get_global_id(0)] *= by; }
kernel void add(global uint *y, global const uint *x) { y[get_global_id(0)] += x[get_global_id(0)]; }
kernel void sums(global const uint *x, global uint *out, local uint *t) {
  uint l = get_local_id(0);
  t[l] = x[get_global_id(0)];
  barrier(CLK_LOCAL_MEM_FENCE);
  if (l == 0) { uint s = 0; for (uint k = 0; k < get_local_size(0); k++) s += t[k]; out[get_group_id(0)] = s; }
}
kernel void say(uint n) { printf("%u\\n", n); }
kernel void crooked(global uint *x) { *(global volatile uint *)((uint)x + 2) = 1; }
"""
SMALL = 2 << 20


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder, limits = tmp_path_factory.mktemp("data"), KernelLimits(4, 5e-2, waves=8)
    settings = ServerSettings(
        "model", "tiny", "fcfs", folder, ROOT / "bitstreams", port=0, kernels=limits, kernel_cache=CACHE
    )
    with Server(settings, board=kernel_board(arena=8 << 20)).background() as running:
        yield running


@pytest.fixture(scope="module")
def clients(server: Server) -> Iterator[dict[str, Client]]:
    with Client(server.url, server.key_file.read_text().strip()) as operator:
        found = {name: Client(server.url, operator.add_tenant(name)["key"]) for name in ("ada", "grace")}
        yield {**found, "operator": operator}
        for client in found.values():
            client.close()


@pytest.fixture
def session(clients: dict[str, Client]) -> Iterator[Session]:
    with clients["ada"].open_session(memory_bytes=SMALL) as opened:
        yield opened
        opened.poll()


def words(data: bytes) -> list[int]:
    return [int(word) for word in np.frombuffer(data, "<u4")]


def test_launches_work_on_buffers_that_stay_and_only_what_is_read_comes_back(session: Session) -> None:
    x, y = session.buffer(256), session.buffer(256)
    session.write(x, np.arange(64, dtype="u4"))
    session.fill(y, (1).to_bytes(4, "little"))
    program = session.program(SOURCE)
    scale, add = program.kernel("scale"), program.kernel("add")
    for _ in range(3):
        session.launch(scale, 64, (x, 2))
        last = session.launch(add, 64, (y, x))
    assert words(session.read(y, size_bytes=32).result()) == [1 + 14 * k for k in range(8)]
    queued, submitted, began, ended = last.profile
    assert 0 <= queued <= submitted <= began < ended
    shown = session.show()
    assert (shown["launches"], shown["bytes_up"], shown["bytes_down"]) == (6, 256, 32)
    assert shown["bytes_kept"] == 3 * 256 + 3 * 512
    assert shown["core_seconds"] > 0


def test_copies_boxes_views_local_memory_and_printing(session: Session) -> None:
    x, y, out = session.buffer(256), session.buffer(256), session.buffer(16)
    session.write(x, np.arange(64, dtype="u4"))
    session.copy(x, y, source_offset=128, target_offset=0, size_bytes=64)
    session.copy_box(x, y, (8, 2, 1), (16, 32), (8, 16), source_offset=0, target_offset=64)
    assert words(session.read(y, size_bytes=80).result()) == [*range(32, 48), 0, 1, 4, 5]
    session.write_box(y, np.array([9, 8], "u4"), (4, 2, 1), (8, 16))
    assert words(session.read_box(y, (4, 3, 1), (8, 24)).result()) == [9, 8, 36]
    session.fill_box(y, bytes([7, 0, 0, 0, 6, 0, 0, 0]), (8, 2, 2), (16, 64), offset=4)
    assert words(session.read(y, size_bytes=96).result()) == [
        9,
        7,
        6,
        35,
        36,
        7,
        6,
        *range(39, 48),
        0,
        7,
        6,
        5,
        0,
        7,
        6,
        0,
    ]
    program = session.program(SOURCE)
    session.launch(program.kernel("sums"), 32, (x.at(128), out, Local(64)), local_size=8)
    said = session.launch(program.kernel("say"), 2, (np.uint32(5),))
    assert words(session.read(out).result()) == [sum(range(32 + 8 * k, 40 + 8 * k)) for k in range(4)]
    assert said.log == "5\n5\n"


def test_programs_take_turns_and_arguments_may_be_bytes(session: Session) -> None:
    x = session.buffer(16)
    session.fill(x, (3).to_bytes(4, "little"))
    first = session.program("kernel void f(global uint *x, uint n) { x[get_global_id(0)] += n; }").kernel("f")
    other = session.program("kernel void f(global uint *x, uint n) { x[get_global_id(0)] *= n; }").kernel("f")
    for kernel in (first, other, first):
        session.launch(kernel, 4, (x, (2).to_bytes(4, "little")))
    assert words(session.read(x).result()) == [12] * 4
    again = session.program("kernel void f(global uint *x, uint n) { x[get_global_id(0)] += n; }")
    assert again.id == first.program.id


def test_a_launch_that_fails_says_why_and_the_next_ones_go_on(session: Session) -> None:
    x = session.buffer(16)
    session.fill(x, bytes(4))
    program = session.program(SOURCE)
    crooked = session.launch(program.kernel("crooked"), 4, (x,))
    after = session.launch(program.kernel("scale"), 4, (x, 2), after=[crooked])
    free = session.launch(program.kernel("scale"), 4, (x, 2))
    with pytest.raises(SessionFailed, match="store_misaligned"):
        crooked.wait()
    assert crooked.error is not None
    assert crooked.error[0] == "misaligned-access"
    with pytest.raises(SessionFailed, match="which it comes after, failed"):
        after.wait()
    free.wait()
    with pytest.raises(SessionFailed):
        session.finish()
    session.finish()


def test_what_does_not_fit_fails_by_itself(session: Session) -> None:
    program, x = session.program(SOURCE), session.buffer(64)
    scale = program.kernel("scale")
    wrong = {
        "memory-exhausted": session.buffer(SMALL).created,
        "invalid-request": session.read(x, 60, 8),
        "not-found": session.launch(scale, 4, (session.held_buffer(99, 4), 1)),
    }
    gone = session.buffer(64)
    gone.release()
    wrong["not-found "] = session.write(gone, b"abcd")
    wrong["invalid-request "] = session.launch(scale, 4, (x,))
    wrong["invalid-request  "] = session.launch(scale, (4, 0), (x, 1))
    wrong["invalid-request   "] = session.launch(scale, 4, (x.at(64), 1))
    for code, event in wrong.items():
        with pytest.raises(SessionFailed):
            event.wait()
        assert event.error is not None
        assert event.error[0] == code.strip()
    with pytest.raises(SessionFailed):
        session.finish()
    with pytest.raises(CompilationFailed, match="expected"):
        session.program("kernel void f(global uint *x) { x[0] = ; }")
    with pytest.raises(InvalidRequest, match="has no kernel 'nothing'"):
        program.kernel("nothing")


def test_out_of_order_commands_follow_what_they_name(clients: dict[str, Client]) -> None:
    with clients["ada"].open_session(memory_bytes=SMALL, out_of_order=True) as session:
        x, y = session.buffer(64), session.buffer(64)
        filled = [session.fill(each, (n).to_bytes(4, "little")) for n, each in enumerate((x, y), 1)]
        program = session.program(SOURCE)
        doubled = [
            session.launch(program.kernel("scale"), 16, (each, 2), after=[before])
            for each, before in zip((x, y), filled, strict=True)
        ]
        both = session.marker(after=doubled)
        added = session.launch(program.kernel("add"), 16, (y, x), after=[both])
        assert words(session.read(y, after=[added]).result()) == [6] * 16


def test_many_launches_are_few_requests_and_nothing_of_them_is_written(
    server: Server, session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    kernel, sent = session.program("kernel void f() {}").kernel("f"), []
    request = session._client.transport.request

    def counted(*arguments: Any, **named: Any) -> Any:
        sent.append(arguments)
        return request(*arguments, **named)

    monkeypatch.setattr(session._client.transport, "request", counted)
    session.launch(kernel, 1, ()).wait()
    written, transaction = [], server.store.database.transaction

    def counted_writes(*arguments: Any, **named: Any) -> Any:
        written.append(arguments)
        return transaction(*arguments, **named)

    monkeypatch.setattr(server.store.database, "transaction", counted_writes)
    sent.clear()
    for _ in range(300):
        session.launch(kernel, 1, ())
    session.finish()
    assert len(sent) < 10
    assert len(written) < 100, "accounts, by the second"


def test_a_profile_names_kernels_and_says_what_this_board_cannot_know(clients: dict[str, Client]) -> None:
    with clients["ada"].open_session(memory_bytes=SMALL) as session:
        x, program = session.buffer(256), session.program(SOURCE)
        for _ in range(3):
            session.launch(program.kernel("scale"), (4, 16), (x, 2))
        session.launch(program.kernel("add"), 64, (x, x))
        session.finish()
        found = clients["ada"].profile_session(session.token)
        kernels = {each["kernel"]: each for each in found["kernels"]}
        assert {name: each["launches"] for name, each in kernels.items()} == {"scale": 3, "add": 1}
        shape = kernels["scale"]["shape"]
        assert shape is not None
        assert shape["global_size"] == [4, 16]
        assert (kernels["scale"]["cycles"], kernels["scale"]["causes"], kernels["scale"]["roofline"]) == (None,) * 3
        assert any("Cycles of" in each for each in found["unknown"])
        assert clients["operator"].profile_session(session.token)["kernels"]
        with pytest.raises(NotFound):
            clients["grace"].profile_session(session.token)
    with pytest.raises(NotFound, match="has ended"):
        clients["ada"].profile_session(session.token)


def test_a_session_is_found_again_by_its_token_and_by_nobody_else(clients: dict[str, Client]) -> None:
    session = clients["ada"].open_session(memory_bytes=SMALL)
    x = session.buffer(16)
    session.fill(x, b"abcd").wait()
    again = clients["ada"].session(session.token)
    assert again.read(again.held_buffer(x.id, 16)).result() == b"abcd" * 4
    y = again.buffer(8)
    assert y.id != x.id
    for stranger in (clients["grace"].session, lambda token: clients["ada"].session(f"{token}0")):
        with pytest.raises(NotFound, match="There is no session"):
            stranger(session.token)
    with pytest.raises(NotFound):
        clients["grace"].transport.json("DELETE", f"/v1/sessions/{session.token}")
    again.close()
    with pytest.raises(NotFound, match="has ended"):
        clients["ada"].session(session.token)


def test_more_memory_than_there_is_and_more_sessions_than_may_be_are_refused(clients: dict[str, Client]) -> None:
    with pytest.raises(InvalidRequest, match="holds at most"):
        clients["grace"].open_session(memory_bytes=64 << 20)
    opened = [clients["grace"].open_session(memory_bytes=1 << 20) for _ in range(2)]
    listed = clients["grace"].transport.json("GET", "/v1/sessions")["sessions"]
    assert {each["session"] for each in listed if each["state"] not in ("closed", "lost")} == {s.token for s in opened}
    for each in opened:
        each.close()
    with pytest.raises(SessionFailed, match="has ended"):
        opened[0].buffer(4)


def test_a_batch_for_an_earlier_life_of_the_server_is_not_taken(session: Session) -> None:
    session.buffer(16).created.wait()
    number, path = session.exchange.next, f"/v1/sessions/{session.token}/commands"
    for life, taken in (("another", number - 1), ("", number)):
        batch = pack_frame({"commands": [{"n": number, "do": "marker"}], "life": life, "until": number, "wait_s": 5.0})
        answer = session._client.transport.request("POST", path, content=batch, headers={"Content-Type": MEDIA_TYPE})
        assert json.loads(split_frame(answer.content)[0])["accepted"] == taken
    session.exchange.next += 1


def test_a_client_that_waits_is_there(clients: dict[str, Client]) -> None:
    """Its request is longer than the lease, and all it does."""
    with clients["grace"].open_session(memory_bytes=1 << 20, lease_s=2.0) as session:
        batch = pack_frame({"commands": [], "until": 1, "wait_s": 4.0})
        path = f"/v1/sessions/{session.token}/commands"
        answer = session._client.transport.request("POST", path, content=batch, headers={"Content-Type": MEDIA_TYPE})
        assert json.loads(split_frame(answer.content)[0])["state"] == "resident"


def test_a_batch_with_a_gap_is_refused_whole(session: Session) -> None:
    session.buffer(16).created.wait()
    number, path = session.exchange.next, f"/v1/sessions/{session.token}/commands"
    batch = pack_frame({"commands": [{"n": number + 1, "do": "marker"}]})
    with pytest.raises(InvalidRequest, match="numbered without gaps"):
        session._client.transport.request("POST", path, content=batch, headers={"Content-Type": MEDIA_TYPE})


IMAGES = """
kernel void mix_texels(read_only image2d_t in, sampler_t how, write_only image2d_t out) {
  int2 at = (int2)(get_global_id(0), get_global_id(1));
  write_imagef(out, at, read_imagef(in, how, (float2)(at.x + 1.0f, at.y + 0.5f)) + (float4)(0, 0, 0, 0.5f));
}
"""


def test_buffers_are_images(session: Session) -> None:
    shape, linear_clamped = (3, 4, 4), 32 | 4
    texels = np.random.default_rng(5).random(shape).astype("f4")
    source, target = session.buffer(64 + texels.nbytes), session.buffer(48)
    session.write(source, texels, offset=64)
    kernel = session.program(IMAGES).kernel("mix_texels")
    out = BufferImage(target, shape, "rgba", "unorm_int8")
    session.launch(kernel, (4, 3), (BufferImage(source, shape, offset=64), linear_clamped, out))
    beyond = np.concatenate([texels[:, 1:], np.zeros((3, 1, 4), "f4")], axis=1)
    expected = (texels + beyond) / 2 + np.array([0, 0, 0, 0.5], "f4")
    found = np.frombuffer(session.read(target).result(), "u1").reshape(shape)
    assert np.abs(found - expected.clip(0, 1) * 255).max() <= 1
    session.launch(kernel, (4, 3), (BufferImage(source, shape), linear_clamped, out)).wait()
    for bad, words in (
        (source, "image of 2 dimensions"),
        (BufferImage(source, (4, 4)), "image of 2 dimensions"),
        (BufferImage(source, (5, 4, 4), offset=64), "texels take 320 bytes"),
        (BufferImage(source, shape, "rgb"), "an order of"),
        (BufferImage(source, (0, 4, 4)), "whole numbers"),
    ):
        with pytest.raises(SessionFailed, match=words):
            session.launch(kernel, (4, 3), (bad, linear_clamped, out)).wait()
    with pytest.raises(SessionFailed):
        session.finish()


def test_a_command_comes_after_hundreds_of_others_through_few_markers(clients: dict[str, Client]) -> None:
    with clients["ada"].open_session(memory_bytes=SMALL, out_of_order=True) as session:
        x = session.buffer(4 * 200)
        many = [session.fill(x, k.to_bytes(4, "little"), 4 * k, 4) for k in range(200)]
        scale = session.program(SOURCE).kernel("scale")
        first = session.exchange.next
        after = [session.launch(scale, 1, (x.at(4 * k), 2), after=[*many, *many]) for k in range(20)]
        assert session.exchange.next - first <= 20 + 4  # a block of 64 numbers has one marker, however many ask for it
        assert words(session.read(x, after=[*many, *after]).result())[:40] == [k * (1 + (k < 20)) for k in range(40)]
        bad = session.launch(session.program(SOURCE).kernel("crooked"), 4, (x,))
        with pytest.raises(SessionFailed, match=r"dependency|after"):
            session.read(x, after=[*(session.fill(x, bytes(4)) for _ in range(100)), bad]).result()
        with contextlib.suppress(SessionFailed):
            session.finish()
