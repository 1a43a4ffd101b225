# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Tasks of a job in two slots of the simulated board, the one's output the other's input, without memory between."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pynq
import pytest
from eddy.board.overlay.fabric import single_block
from eddy.board.port.port import Access, BoardEvent, Cause, EventKind, Grant, Launch, SlotPhase, Stream
from eddy.board.pynq.pynq import PynqBoard
from eddy.board.remote.factory import open_board
from eddy.cli.demo.demo_plan import photograph
from eddy.core.applications import Application, BufferRole
from eddy.core.errors import InvalidRequest
from eddy.core.jobs import JobState
from eddy.core.records import JobEvent, JobEventKind
from eddy.packages.modules import ModuleManifest
from eddy.policy.dispatch import POLICIES
from eddy_drivers.memory_counters import MemoryCounters
from eddy_sim.boards.faults import LIE, DoneClaim, Liar, LoadFault
from eddy_sim.reference import image_compression
from system.jobs.live_rig import CATALOGUE, Arrival, Live

pytestmark = [pytest.mark.rtl, pytest.mark.xdist_group("simulated board")]
NAME = "image_compression"
BATCH = 4
TILE_BYTES = 128 * 128
BETWEEN = 2 * TILE_BYTES
"""Bytes of an item between the two tasks: words of 16 bits."""


@pytest.fixture(scope="module")
def board() -> Iterator[PynqBoard]:
    opened = open_board("rtl", "tiny_streams")
    assert isinstance(opened, PynqBoard)
    yield opened
    opened.release()


def halves(application: Application) -> Application:
    """The first two tasks of image compression, what they leave being the output."""
    named = {value for task in application.tasks[:2] for _, value in task.arguments if isinstance(value, str)}
    roles = {"coefficients": BufferRole.OUTPUT}
    buffers = tuple(replace(b, role=roles.get(b.name, b.role)) for b in application.buffers if b.name in named)
    return replace(application, tasks=application.tasks[:2], edges=((0, 1),), buffers=buffers, fused=())


def without_streams(manifest: ModuleManifest) -> ModuleManifest:
    return replace(manifest, registers=tuple(replace(r, streamed=False) for r in manifest.registers))


def moved(board: PynqBoard) -> int:
    """Bytes that slots read and wrote of memory so far, as its controller counts them."""
    counters = single_block(board._fabric._overlay, MemoryCounters)  # type: ignore[attr-defined]
    counters.capture()
    found = [counters.read_captured(slot, (0,))[0] for slot in range(2)]
    return sum(counted["read_bytes"] + counted["write_bytes"] for counted in found)


@dataclass(frozen=True)
class Outcome:
    """What came of a job: its output, bytes of memory, board seconds from its first load on, and what happened."""

    output: bytes
    moved: int
    took_s: float
    log: list[JobEvent]

    @property
    def streamed(self) -> int:
        """Items that went from slot to slot."""
        return sum(event.what is JobEventKind.LAUNCH and "writes to" in event.detail for event in self.log)


def run(board: PynqBoard, folder: Path, streams: bool, batch: int = BATCH) -> Outcome:
    """A job of both tasks, one that may stream or one that may not."""
    folder.mkdir()
    modules = dict(CATALOGUE.modules)
    if not streams:
        modules |= {name: without_streams(modules[name]) for name in ("level_shift", "dct")}
    application = halves(CATALOGUE.application(NAME))
    live = Live(board, POLICIES["eddy"](), folder, {NAME: application}, modules)
    before, order = moved(board), photograph("ada", 1, 0, batch)
    (record,) = live.play([Arrival(0.0, order)])
    assert record.state is JobState.SUCCEEDED, record.detail
    log = [event for event in live.log(record) if event.at_s is not None]
    times = [event.at_s for event in log if event.what is JobEventKind.ITEM_DONE]
    first = min(event.started_s or 0.0 for event in log if event.what is JobEventKind.ITEM_DONE)
    output = live.store.outputs.read("ada", record.id, "coefficients")
    return Outcome(output, moved(board) - before, max(times) - first, log)


def test_two_tasks_run_as_a_pair_without_memory_between_them(board: PynqBoard, tmp_path: Path) -> None:
    """Bit-identical to the way through memory, in no more time, with both ways between the tasks saved."""
    by_memory, streamed = (run(board, tmp_path / str(streams), streams) for streams in (False, True))
    expected = [image_compression.compress(tile)["coefficients"] for tile in image_compression.tiles()[:BATCH]]
    assert streamed.output == by_memory.output == b"".join(each.astype("<i2").tobytes() for each in expected)
    # The first item goes through memory while the second task's slot is loaded.
    assert (by_memory.streamed, streamed.streamed) == (0, BATCH - 1)
    assert by_memory.moved - streamed.moved == 2 * BETWEEN * streamed.streamed
    print(f"{by_memory.took_s * 1e6:.1f} us and {by_memory.moved} bytes through memory,", end=" ")
    print(f"{streamed.took_s * 1e6:.1f} us and {streamed.moved} bytes from slot to slot")


class Pair:
    """Both modules in their slots, and an item's buffers."""

    def __init__(self, board: PynqBoard) -> None:
        self.board, self.seen = board, board.state().next_seq - 1
        for slot, module in enumerate(("level_shift", "dct")):
            held = board.state().slots[slot]
            image = next(i.sha256 for i in board.images() if (i.module, i.slot) == (module, slot))
            if held.phase is not SlotPhase.IDLE or held.image != image:
                board.load(slot, image)
                assert self.next().kind is EventKind.CONFIGURED
        sizes = {"image": TILE_BYTES, "between": BETWEEN, "result": BETWEEN}
        self.buffers = {name: board.allocate(size, "test") for name, size in sizes.items()}
        board.write(self.buffers["image"].id, 0, image_compression.tiles()[0].tobytes())

    def next(self) -> BoardEvent:
        (event,) = self.board.wait(self.board.now_s() + 1.0, self.seen)
        self.seen = event.seq
        return event

    def launch(self, slot: int, stream: Stream | None, item: str, rows: int = 128) -> None:
        names = ("image", "between") if slot == 0 else ("between", "result")
        given, taken = (self.buffers[name] for name in names)
        module = CATALOGUE.modules["level_shift" if slot == 0 else "dct"]
        scalars = {"width": 128, "height": rows} if slot == 0 else {"blocks": 256}
        registers = module.writes({"in": given.address, "out": taken.address, **scalars})
        assert module.status is not None
        grants = (Grant(given.id, Access.READ), Grant(taken.id, Access.WRITE))
        streams = () if stream is None else (stream,)
        self.board.launch(slot, Launch(item, registers, grants, 2e-3, module.status.offset, streams=streams))

    def free(self) -> None:
        for buffer in self.buffers.values():
            self.board.free(buffer.id)


@pytest.fixture
def pair(board: PynqBoard) -> Iterator[Pair]:
    made = Pair(board)
    yield made
    for slot in (0, 1):
        board.stop(slot)
    made.free()


def test_a_reader_gets_zeros_after_what_was_sent(board: PynqBoard, pair: Pair) -> None:
    """Half of the picture is sent: the rest reads as a buffer does that nobody wrote to."""
    between = pair.buffers["between"].id
    pair.launch(1, Stream(between, 0), "reads")
    pair.launch(0, Stream(between, 1), "writes", rows=64)
    assert [(e.item, e.cause) for e in (pair.next(), pair.next())] == [("writes", Cause.NONE), ("reads", Cause.NONE)]
    found = board.read(pair.buffers["result"].id, 0, BETWEEN)
    expected = image_compression.compress(image_compression.tiles()[0])["coefficients"].astype("<i2").tobytes()
    assert found[: BETWEEN // 2] == expected[: BETWEEN // 2]
    assert not any(found[BETWEEN // 2 :])
    assert not any(board.read(between, 0, BETWEEN)), "nothing of it is in memory"


@pytest.mark.parametrize("stopped", [0, 1])
def test_whose_other_end_goes_does_not_wait(board: PynqBoard, pair: Pair, stopped: int) -> None:
    """A sender that is stopped fails its reader at once; a reader that is stopped lets its sender end."""
    between = pair.buffers["between"].id
    pair.launch(1, Stream(between, 0), "reads")
    pair.launch(0, Stream(between, 1), "writes")
    board.wait(board.now_s() + 10e-6, pair.seen)
    board.stop(stopped)
    began_s, ended = board.now_s(), dict[str, BoardEvent]()
    while len(ended) < 2:
        event = pair.next()
        ended[event.item] = event
    assert ended["reads" if stopped else "writes"].cause is Cause.STOPPED
    other = ended["writes" if stopped else "reads"]
    assert other.cause is (Cause.NONE if stopped else Cause.STREAM_LOST), other
    assert other.at_s - began_s < 200e-6, "long before its time limit"
    # Both slots serve on.
    again = Pair(board)
    again.launch(0, None, "again")
    assert again.next().cause is Cause.NONE
    again.free()


def test_a_sender_that_says_done_early_loses_no_word(board: PynqBoard, pair: Pair) -> None:
    """Words that wait for their reader when the sender says done go to it before the end of the stream does: the result
    is that of the same bytes out of memory."""
    bursts = 8
    early = Liar(writes=True, len=15, total=bursts, outstanding=bursts, when=DoneClaim.ASKED)
    pynq.Device.active_device.inject(0, LoadFault(liar=early))
    image = board.state().slots[0].image
    assert image is not None
    board.load(0, image)
    assert pair.next().kind is EventKind.CONFIGURED
    between = pair.buffers["between"]
    pointer = ((early.pointer, between.address & 0xFFFF_FFFF), (early.pointer + 4, between.address >> 32))
    pair.launch(1, Stream(between.id, 0), "reads")
    grants = (Grant(between.id, Access.WRITE),)
    board.launch(0, Launch("early", pointer, grants, 2e-3, streams=(Stream(between.id, 1),)))
    assert [(e.item, e.cause) for e in (pair.next(), pair.next())] == [("early", Cause.NONE), ("reads", Cause.NONE)]
    streamed = board.read(pair.buffers["result"].id, 0, BETWEEN)
    words = bursts * 16
    assert words > 64, "more than fit between the slots"
    board.write(between.id, 0, (LIE * words).ljust(BETWEEN, b"\0"))
    pair.launch(1, None, "out of memory")
    assert pair.next().cause is Cause.NONE
    assert any(streamed)
    assert streamed == board.read(pair.buffers["result"].id, 0, BETWEEN)


def test_a_stream_is_a_buffer_that_is_read_or_written(board: PynqBoard, pair: Pair) -> None:
    for buffer in (pair.buffers["result"].id, 0):
        with pytest.raises(InvalidRequest, match="a stream is a buffer"):
            pair.launch(0, Stream(buffer, 1), "wrong")
    assert board.state().slots[0].phase is SlotPhase.IDLE
