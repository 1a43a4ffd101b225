# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Crashes: a client that dies loses nothing, a boardd that dies leaves nothing open."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import cast
from unittest.mock import patch

import pytest
from contract.boardd_process import Start, processes
from contract.fake_fabric import MARK, FakeSlot
from contract.harness import PATIENCE_S, fake, marking, socketed
from eddy.board.port import wire
from eddy.board.port.port import Cause, EventKind, Launch, SlotPhase
from eddy.board.pynq.pynq import PynqBoard
from eddy.board.remote.boardd import listen, serve
from eddy.board.remote.boardd_server import NEWCOMERS
from eddy.board.remote.journal import Journal, JournalEntry
from eddy.board.remote.socket import SocketBoard
from eddy.core.errors import BoardUnreachable, Conflict, InvalidRequest, StorageInUse
from eddy.host.files import FolderLock


@pytest.fixture
def boardd(tmp_path: Path) -> Iterator[tuple[Start, Path]]:
    """Starts boardd processes on the RTL, all on one socket."""
    with processes(tmp_path) as made:
        yield made


@pytest.mark.rtl
@pytest.mark.xdist_group("board-rtl")
def test_boardd_killed_in_the_middle_leaves_every_slot_closed(boardd: tuple[Start, Path]) -> None:
    start, path = boardd
    first = start()
    board = SocketBoard(path, PATIENCE_S)
    images = {image.slot: image.sha256 for image in board.images()}
    board.load(0, images[0])
    (event,) = board.wait(1.0)
    assert event.kind is EventKind.CONFIGURED
    board.wait(0.0, acknowledge=event.seq)
    buffer = board.allocate(4096, "job")
    board.write(buffer.id, 0, b"secret")
    # The real module, started without anything to do to its liking: it runs, or ends; both were not acknowledged.
    board.launch(0, Launch("lost", (), (), 1.0))
    board.load(1, images[1])
    old = board.instance
    os.kill(first.pid, signal.SIGKILL)
    first.wait()
    with pytest.raises(BoardUnreachable):
        board.state()
    with pytest.raises(BoardUnreachable):
        board.state()

    start()
    state = board.state()
    assert board.instance != old
    assert [slot.phase for slot in state.slots] == [SlotPhase.EMPTY, SlotPhase.EMPTY]
    assert state.buffers == ()
    events = board.wait(0.0)
    assert [(e.kind, e.slot, e.item, e.image, e.cause) for e in events] == [
        (EventKind.ITEM_FAILED, 0, "lost", "", Cause.BOARD_RESTARTED),
        (EventKind.CONFIGURATION_FAILED, 1, "", images[1], Cause.BOARD_RESTARTED),
    ]
    assert events[0].seq > event.seq, "numbers are never used twice"
    everything = board.describe().arena_bytes
    assert not any(board.read(board.allocate(everything, "next").id, 0, everything))
    with pytest.raises(Conflict):
        board.launch(0, Launch("x", (), (), 1.0))
    board.release()


@pytest.mark.rtl
@pytest.mark.xdist_group("board-rtl")
def test_boardd_ends_on_sigterm_and_removes_its_socket(boardd: tuple[Start, Path]) -> None:
    start, path = boardd
    process = start()
    assert stat.S_IMODE(path.stat().st_mode) == 0o660
    with pytest.raises(Conflict, match="another boardd"):
        listen(path)
    process.send_signal(signal.SIGTERM)
    assert process.wait(180) == 0
    assert not path.exists()


def test_a_stop_closes_every_slot_even_if_one_of_them_fails(tmp_path: Path) -> None:
    harness = fake(tmp_path)
    board = cast(PynqBoard, harness.board)
    harness.load(0)
    harness.load(1)
    models = [cast(FakeSlot, slot.hardware.control) for slot in board._slots]
    assert all(model.control_open for model in models)

    def refuse() -> None:
        raise OSError("the bus does not answer")

    models[1].quiesce = refuse  # type: ignore[method-assign]
    with pytest.raises(OSError, match="the bus"):
        board.release()
    for model in models:
        assert not any((model.control_open, model.memory_open, model.running))


def test_a_stop_in_the_middle_of_a_load_leaves_the_slot_closed(tmp_path: Path) -> None:
    harness = fake(tmp_path)
    board = cast(PynqBoard, harness.board)
    harness.load(1)
    board.load(0, harness.image(0).sha256)
    assert board.state().slots[0].phase is SlotPhase.LOADING
    board.release()
    for slot in board._slots:
        model = cast(FakeSlot, slot.hardware.control)
        assert not any((model.control_open, model.memory_open, model.running))


def test_items_finish_while_no_client_is_there(tmp_path: Path) -> None:
    inner = fake(tmp_path)
    harness = socketed(inner, tmp_path)
    try:
        harness.load(0)
        buffer = harness.board.allocate(8, "job")
        harness.launch(buffer, "orphan")
        harness.board.release()
        while cast(PynqBoard, inner.board).busy:
            pass
        board = harness.board
        (event,) = board.wait(0.0)
        assert (event.kind, event.item) == (EventKind.ITEM_DONE, "orphan")
        assert board.read(buffer.id, 0, 8) == MARK
        assert board.state().slots[0].phase is SlotPhase.IDLE
    finally:
        harness.close()


def test_client_killed_in_a_wait_is_replaced(tmp_path: Path) -> None:
    harness = socketed(fake(tmp_path), tmp_path)
    try:
        path = tmp_path / "boardd.sock"
        harness.load(0, "hang")
        harness.launch(harness.board.allocate(8, "job"), "stuck", limit_s=1e6)
        harness.board.release()
        client = hello(path)
        client.sendall(wire.Frame({"call": "wait", "args": {"until_s": 1e12}}).encode())
        client.close()
        assert harness.board.state().slots[0].item in ("stuck", "")
    finally:
        harness.close()


def test_second_client_is_refused_while_the_first_lives(tmp_path: Path) -> None:
    harness = socketed(fake(tmp_path), tmp_path)
    try:
        with pytest.raises(Conflict, match=str(os.getpid())):
            SocketBoard(tmp_path / "boardd.sock")
        assert harness.board.state().next_seq == 0
    finally:
        harness.close()


@pytest.mark.parametrize("text", [b"[" * 100_000, b'{"a":' * 100_000, b"9" * 5_000, b"\xff"])
def test_a_frame_that_is_no_json_ends_its_connection_alone(tmp_path: Path, text: bytes) -> None:
    harness = socketed(fake(tmp_path), tmp_path)
    harness.board.release()
    try:
        with hello(tmp_path / "boardd.sock") as client:
            client.sendall(wire.LENGTHS.pack(len(text), 0) + text)
            assert b"invalid-request" in client.recv(4096)
        hello(tmp_path / "boardd.sock").close()
    finally:
        harness.close()


def test_nobody_listens(tmp_path: Path) -> None:
    with pytest.raises(BoardUnreachable, match="eddy boardd"):
        SocketBoard(tmp_path / "nowhere.sock")


def hello(path: Path, protocol: int = wire.PROTOCOL) -> socket.socket:
    """A client by hand."""
    client = socket.socket(socket.AF_UNIX)
    client.settimeout(180)
    client.connect(str(path))
    client.sendall(wire.Frame({"hello": wire.NAME, "protocol": protocol}).encode())
    answer(client)
    return client


def answer(client: socket.socket) -> dict[str, object]:
    """The next frame's JSON; {} where boardd hung up."""
    decoder = wire.Decoder()
    while (frame := decoder.next()) is None:
        data = client.recv(1 << 16)
        if not data:
            return {}
        decoder.feed(data)
    return frame.head


BAD_CALLS: list[dict[str, object]] = [
    {"call": "shutdown", "args": {}},
    {"call": "__class__", "args": {}},
    {"call": ["load"], "args": {}},
    {"call": "load", "args": {"slot": "0", "image": "x"}},
    {"call": "load", "args": {"slot": True, "image": "x"}},
    {"call": "load", "args": {"slot": 0}},
    {"call": "load", "args": {"slot": 0, "image": "x", "force": True}},
    {"call": "load", "args": []},
    {"call": "launch", "args": {"slot": 0, "launch": {"item": "x"}}},
    {"call": "launch", "args": {"slot": 0, "launch": {"item": "x", "registers": [[1, 2, 3]], "grants": [],
                                                      "time_limit_s": 1}}},
    {"call": "launch", "args": {"slot": 0, "launch": {"item": "x", "registers": [], "time_limit_s": 1,
                                                      "grants": [{"buffer": 1, "access": "x"}]}}},
    {"call": "read", "args": {"buffer": 1, "offset": 0, "bytes": 1 << 40}},
    {},
]  # fmt: skip


def test_every_call_is_validated(tmp_path: Path) -> None:
    harness = socketed(fake(tmp_path), tmp_path)
    try:
        harness.board.release()
        client = hello(tmp_path / "boardd.sock")
        for call in BAD_CALLS:
            client.sendall(wire.Frame(call).encode())
            error = answer(client)["error"]
            assert isinstance(error, dict)
            assert error["code"] == "invalid-request", call
        client.close()
    finally:
        harness.close()


@pytest.mark.parametrize("data", [b"\xff" * 8, b"\0\0\0\4\0\0\0\0nope", b"\0\0\0\2\0\0\0\0[]"])
def test_garbage_ends_the_connection_and_nothing_else(tmp_path: Path, data: bytes) -> None:
    harness = socketed(fake(tmp_path), tmp_path)
    try:
        harness.board.release()
        client = hello(tmp_path / "boardd.sock")
        client.sendall(data)
        assert "error" in answer(client)
        assert answer(client) == {}
        client.close()
        assert harness.board.state().next_seq == 0
    finally:
        harness.close()


def test_whoever_keeps_silent_makes_room_for_who_speaks(tmp_path: Path) -> None:
    """Hundreds of connections that say nothing, or half a hello, cost a few descriptors and the board nothing."""
    harness = socketed(fake(tmp_path), tmp_path)
    path = tmp_path / "boardd.sock"
    with contextlib.ExitStack() as ending:
        ending.callback(harness.close)
        harness.board.release()
        first = ending.enter_context(hello(path))
        before = len(os.listdir("/proc/self/fd"))
        silent = []
        for number in range(200):
            stranger = ending.enter_context(socket.socket(socket.AF_UNIX))
            stranger.connect(str(path))
            stranger.settimeout(180)
            with contextlib.suppress(BrokenPipeError):
                stranger.sendall(wire.LENGTHS.pack(60, 0)[: number % 9])
            silent.append(stranger)
        assert silent[0].recv(1) == b"", "the first of them was not let go"
        # Who has the board keeps it.
        first.sendall(wire.Frame({"call": "now_s", "args": {}}).encode())
        assert "result" in answer(first)
        ours = sum(stranger.fileno() >= 0 for stranger in silent)
        assert len(os.listdir("/proc/self/fd")) - before - ours <= NEWCOMERS + 2
        # And no silence keeps the next one out.
        first.close()
        ending.enter_context(hello(path))


def test_a_stranger_gets_no_memory_to_fill(tmp_path: Path) -> None:
    harness = socketed(fake(tmp_path), tmp_path)
    try:
        with socket.socket(socket.AF_UNIX) as stranger:
            stranger.settimeout(180)
            stranger.connect(str(tmp_path / "boardd.sock"))
            stranger.sendall(wire.LENGTHS.pack(100, wire.CHUNK))
            error = answer(stranger)["error"]
            assert isinstance(error, dict)
            assert error["code"] == "invalid-request"
    finally:
        harness.close()


def test_another_protocol_version_is_refused(tmp_path: Path) -> None:
    harness = socketed(fake(tmp_path), tmp_path)
    try:
        client = socket.socket(socket.AF_UNIX)
        client.connect(str(tmp_path / "boardd.sock"))
        client.sendall(wire.Frame({"hello": wire.NAME, "protocol": 99}).encode())
        error = answer(client)["error"]
        assert isinstance(error, dict)
        assert "one release" in error["message"]
        client.close()
    finally:
        harness.close()


def test_journal_reports_what_was_not_acknowledged(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    harness = fake(tmp_path)
    events = []
    journal = Journal(path)
    journal.begin(JournalEntry(0, image=harness.image(0).sha256))
    events.append(harness.load(0))
    journal.acknowledge(events)
    for item in ("done", "running"):
        journal.begin(JournalEntry(0, item=item))
    refused = JournalEntry(1, item="refused")
    journal.begin(refused)
    journal.drop_entry(refused)
    harness.board.launch(0, marking(harness.board.allocate(8, "job"), "done"))
    journal.acknowledge([harness.next_event()])
    harness.close()
    assert Journal(path).lost == (JournalEntry(0, item="running"),)
    assert Journal(path).first_seq() >= 3
    path.write_text("{")
    assert Journal(path).lost == ()


def test_a_journal_that_cannot_be_written_stops_nothing_and_is_said_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "journal"
    journal = Journal(path)
    journal.begin(JournalEntry(0, item="kept"))
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    full = tmp_path / "journal.tmp"
    full.mkdir()  # stands where the next version would be written
    journal.begin(JournalEntry(1, item="unkept"))
    journal.drop_entry(JournalEntry(1, item="unkept"))
    assert len([message for message in caplog.messages if "cannot be written" in message]) == 1
    full.rmdir()
    journal.begin(JournalEntry(0, item="again"))
    assert "is written again" in caplog.messages[-1]
    assert Journal(path).lost == (JournalEntry(0, item="kept"), JournalEntry(0, item="again"))


def test_two_boardds_never_own_one_socket_even_before_they_listen(tmp_path: Path) -> None:
    path = tmp_path / "s"
    first = FolderLock(tmp_path / "s.lock", "the socket")
    first.note()
    with pytest.raises(StorageInUse, match=f"process {os.getpid()} has the socket"):
        serve("rtl", path)
    first.release()
    assert not path.exists()


def test_a_socket_is_there_once_it_is_served(tmp_path: Path) -> None:
    """Models are built before, for minutes: whoever waits for the socket is not told too soon."""
    path, bound = tmp_path / "s", list[str]()

    def opened(*_: object, **__: object) -> object:
        raise InvalidRequest("no board")

    def bind(address: Path) -> socket.socket:
        bound.append(address.name)
        return listen(address)

    with (
        patch("eddy.board.remote.boardd.open_board", opened),
        patch("eddy.board.remote.boardd.listen", bind),
        pytest.raises(InvalidRequest, match="no board"),
    ):
        serve("rtl", path)
    assert bound, "that it can be bound is tried before"
    assert (path.name in bound, [*tmp_path.glob("*s")]) == (False, [])


def test_values_outside_the_port_are_not_taken() -> None:
    with pytest.raises(InvalidRequest):
        wire.from_json(Launch, {"item": 3, "registers": [], "grants": [], "time_limit_s": 1.0}, "launch")
    with pytest.raises(InvalidRequest):
        wire.arguments_of("wait", {"until_s": "soon"}, b"")
    assert wire.arguments_of("wait", {"until_s": 1}, b"") == {"until_s": 1.0, "acknowledge": -1}
