# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The model board: time, loads, items, memory."""

from __future__ import annotations

import pytest
from eddy.board.model.model import LoadTime, ModelBoard, ModelFaults
from eddy.board.model.model_images import model_images
from eddy.board.model.model_memory import GrantedMemory, ModelMemory
from eddy.board.model.model_modules import Behaviour
from eddy.board.port.port import Access, Cause, EventKind, Grant, Launch, SlotPhase
from eddy.board.port.profile import load_profile
from eddy.core.errors import Conflict, ImageRefused, InvalidRequest, MemoryExhausted, ModuleFault, NotFound
from hypervisor_kit import BEHAVIOURS, LATENCY, description, model_board

LOADS = {0: LoadTime(0.08, 0.005), 1: LoadTime(0.09, 0.006)}
FOREVER = float("inf")


def board(
    blocking: bool = False,
    cache_bytes: int = 0,
    faults: ModelFaults | None = None,
    behaviours: dict[str, Behaviour] | None = None,
    real_memory: bool = True,
) -> ModelBoard:
    described = description(2, 1 << 16)
    return ModelBoard(
        described,
        model_images(described, LATENCY),
        LATENCY,
        load_times=LOADS,
        blocking=blocking,
        cache_bytes=cache_bytes,
        faults=faults,
        behaviours=behaviours,
        real_memory=real_memory,
    )


def image(of: ModelBoard, module: str, slot: int) -> str:
    return next(i.sha256 for i in of.images() if i.module == module and i.slot == slot)


def loaded(of: ModelBoard, module: str = "flip", slot: int = 0) -> ModelBoard:
    of.load(slot, image(of, module, slot))
    event = of.wait(FOREVER)[-1]
    of.wait(of.now_s(), event.seq)
    return of


def item(name: str = "i", limit_s: float = 1.0, grants: tuple[Grant, ...] = ()) -> Launch:
    return Launch(name, (), grants, limit_s)


def test_a_load_takes_storage_then_port_and_says_when_it_began() -> None:
    b = board()
    b.load(0, image(b, "mix", 0))
    assert b.now_s() == 0.0
    assert b.state().slots[0].phase is SlotPhase.LOADING
    (event,) = b.wait(FOREVER)
    assert (event.kind, event.started_s) == (EventKind.CONFIGURED, 0.0)
    assert event.at_s == pytest.approx(0.085)
    assert b.state().slots[0].phase is SlotPhase.IDLE


def test_a_blocking_load_returns_when_it_has_ended_and_keeps_what_happened_meanwhile() -> None:
    b = loaded(board(blocking=True))
    began_s = b.now_s()
    b.launch(0, item())
    b.load(1, image(b, "mix", 1))
    assert b.now_s() == pytest.approx(began_s + 0.096)
    ended, configured = b.wait(FOREVER)
    assert (ended.kind, configured.kind) == (EventKind.ITEM_DONE, EventKind.CONFIGURED)
    assert ended.at_s == pytest.approx(began_s + LATENCY["flip"])
    assert configured.at_s == pytest.approx(began_s + 0.096)


def test_a_fetched_image_needs_no_storage_read_and_a_fetch_under_way_is_waited_for() -> None:
    b = board(cache_bytes=1 << 20)
    b.prefetch(image(b, "mix", 0))
    b.wait(0.05)
    loaded(b, "mix")
    assert b.now_s() == pytest.approx(0.085)
    loaded(b, "mix")
    assert b.now_s() == pytest.approx(0.09)


def test_the_image_used_longest_ago_leaves_the_cache() -> None:
    b = board(cache_bytes=2200)
    for module in ("mix", "flip", "mix", "rotate", "mix"):
        b = loaded(b, module)
    began_s = b.now_s()
    loaded(b, "flip")
    assert b.now_s() - began_s == pytest.approx(0.085)


@pytest.mark.parametrize("name", ["nowhere", "elsewhere"])
def test_an_image_that_does_not_belong_is_refused_untouched(name: str) -> None:
    b = board()
    with pytest.raises(ImageRefused):
        b.load(0, "ff" if name == "nowhere" else image(b, "mix", 1))
    assert b.state().slots[0].phase is SlotPhase.EMPTY


def test_one_load_at_a_time_and_none_under_a_running_item() -> None:
    b = board()
    b.load(0, image(b, "mix", 0))
    with pytest.raises(Conflict, match="port is busy"):
        b.load(1, image(b, "mix", 1))
    b.wait(FOREVER)
    b.launch(0, item())
    with pytest.raises(Conflict, match="runs an item"):
        b.load(0, image(b, "mix", 0))


def test_events_stay_until_acknowledged_and_time_stops_at_each() -> None:
    b = loaded(board())
    b.launch(0, item())
    first = b.wait(FOREVER)
    assert b.wait(FOREVER) == first
    now_s = b.now_s()
    assert b.wait(FOREVER, first[-1].seq) == ()
    assert b.now_s() == now_s, "nothing is under way: time stands still"
    assert b.wait(now_s + 1.0) == ()
    assert b.now_s() == now_s + 1.0
    assert b.wait(0.0) == ()
    assert b.now_s() == now_s + 1.0


def test_a_hang_ends_at_its_limit_and_closes_the_slot() -> None:
    b = loaded(board(faults=ModelFaults({"i": Cause.TIME_LIMIT})))
    began_s = b.now_s()
    b.launch(0, item(limit_s=0.25))
    (event,) = b.wait(FOREVER)
    assert (event.kind, event.cause) == (EventKind.ITEM_FAILED, Cause.TIME_LIMIT)
    assert event.at_s == pytest.approx(began_s + 0.25)
    assert b.state().slots[0].phase is SlotPhase.FAULTED
    with pytest.raises(Conflict):
        b.launch(0, item())


def test_an_item_slower_than_its_limit_is_stopped() -> None:
    b = loaded(board())
    b.launch(0, item(limit_s=LATENCY["flip"] / 2))
    assert b.wait(FOREVER)[-1].cause is Cause.TIME_LIMIT


def test_stop_and_close() -> None:
    b = loaded(board())
    b.launch(0, item())
    b.stop(0)
    (event,) = b.wait(b.now_s())
    assert event.cause is Cause.STOPPED
    assert b.wait(FOREVER, event.seq) == (), "the planned end is void"
    b.stop(0)
    b.close(0)
    assert b.state().slots[0].phase is SlotPhase.EMPTY


def test_a_failed_load_leaves_the_slot_empty() -> None:
    b = board(faults=ModelFaults(loads=frozenset({0})))
    b.load(0, image(b, "mix", 0))
    assert b.wait(FOREVER)[-1].cause is Cause.CONFIGURATION_ERROR
    assert b.state().slots[0].phase is SlotPhase.EMPTY


def test_a_behaviour_sees_only_what_was_granted() -> None:
    def stray(registers: object, memory: GrantedMemory) -> None:
        memory.write(0x4000_1000, b"x")

    b = loaded(board(behaviours={"flip": stray}))
    mine, other = b.allocate(64, "me"), b.allocate(64, "you")
    assert other.address == 0x4000_1000
    b.launch(0, item(grants=(Grant(mine.id, Access.WRITE), Grant(other.id, Access.READ))))
    event = b.wait(FOREVER)[-1]
    assert event.cause is Cause.WRITE_OUTSIDE_WINDOW
    assert b.read(other.id, 0, 64) == bytes(64)


def test_memory_is_zero_page_aligned_bounded_and_kept_while_in_use() -> None:
    b = loaded(board())
    first = b.allocate(5000, "a")
    assert first.address % 4096 == 0
    b.write(first.id, 1, b"abc")
    assert b.read(first.id, 0, 5) == b"\0abc\0"
    with pytest.raises(InvalidRequest):
        b.read(first.id, 4999, 2)
    b.launch(0, item(grants=(Grant(first.id, Access.READ),)))
    with pytest.raises(Conflict):
        b.free(first.id)
    b.wait(FOREVER)
    b.free(first.id)
    again = b.allocate(5000, "b")
    assert (again.address, b.read(again.id, 0, 5)) == (first.address, bytes(5))
    assert again.id != first.id
    with pytest.raises(MemoryExhausted):
        b.allocate(1 << 16, "c")
    with pytest.raises(NotFound):
        b.launch(0, item(grants=(Grant(first.id, Access.READ),)))


def test_memory_may_be_booked_only() -> None:
    b = board(real_memory=False)
    buffer = b.allocate(64, "a")
    b.write(buffer.id, 0, b"x")
    assert b.read(buffer.id, 0, 4) == bytes(4)


def test_counters_count_granted_bytes() -> None:
    b = loaded(board())
    source, sink = b.allocate(256, "a"), b.allocate(100, "a")
    b.launch(0, item(grants=(Grant(source.id, Access.READ), Grant(sink.id, Access.WRITE))))
    b.wait(FOREVER)
    counters = b.counters(0)
    assert (counters.read_bytes, counters.write_bytes, counters.read_requests) == (256, 100, 2)
    assert counters.cycles == pytest.approx(LATENCY["flip"] * 1e8, rel=1e-6)


@pytest.mark.parametrize("name", ["zcu106", "tiny"])
def test_a_profile_gives_its_load_times(name: str) -> None:
    profile = load_profile(name)
    b = ModelBoard.from_profile(profile, ["m"], {"m": 1e-3})
    assert len(b.images()) == len(profile.slots)
    b.load(0, b.images()[0].sha256)
    size, port = profile.slots[0].image_bytes, profile.configuration
    assert b.wait(FOREVER)[-1].at_s == pytest.approx(size / port.storage_bytes_per_s + size / port.bytes_per_s)


def test_the_kit_computes() -> None:
    assert set(BEHAVIOURS) == set(LATENCY)
    assert model_board().describe().slots[-1].pool.value == "gpu"


def test_what_a_behaviour_keeps_of_its_memory_is_worth_nothing_after_its_item() -> None:
    kept: list[GrantedMemory] = []
    board = ModelBoard(
        description(),
        model_images(description(), LATENCY),
        LATENCY,
        behaviours={"flip": lambda registers, memory: kept.append(memory)},
    )
    image = next(i for i in board.images() if (i.module, i.slot) == ("flip", 0))
    board.load(0, image.sha256)
    (loaded,) = board.wait(1.0)
    mine = board.allocate(64, "mine")
    board.launch(0, Launch("liar", (), (Grant(mine.id, Access.READ_WRITE),), 1.0))
    (done,) = board.wait(2.0, loaded.seq)
    assert done.kind is EventKind.ITEM_DONE
    for _ in range(2):
        with pytest.raises(ModuleFault):
            kept[0].read(mine.address, 8)
        with pytest.raises(ModuleFault):
            kept[0].write(mine.address, b"late")
        # The same once it is freed, and somebody else's.
        board.free(mine.id)
        other = board.allocate(64, "other")
        assert other.address == mine.address
        mine = other
    assert board.read(mine.id, 0, 64) == bytes(64)


def test_a_buffer_takes_memory_of_this_machine_once_it_is_written() -> None:
    """Thousands of jobs have their buffers on a board that computes nothing; most of these are never written."""
    memory = ModelMemory(0x1000_0000, 1 << 30, real=True)
    large, small = memory.allocate(1 << 29, "7"), memory.allocate(64, "7")
    assert memory.read(large.id, (1 << 29) - 5, 5) == bytes(5)
    assert memory._bytes == {}
    memory.write(small.id, 60, b"abcd")
    assert memory.read(small.id, 58, 6) == b"\0\0abcd"
    assert {number: len(data) for number, data in memory._bytes.items()} == {small.id: 64}
    memory.free(small.id)
    again = memory.allocate(64, "8")
    assert memory.read(again.id, 0, 64) == bytes(64)
    assert memory._bytes == {}
