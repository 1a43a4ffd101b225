# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The GPU cluster's driver over a register bank in plain Python: what it queues, starts, refuses and tells."""

from __future__ import annotations

import dataclasses
import heapq
from collections.abc import Callable

import pytest
from contract.fake_cluster import FakeCluster, Surroundings
from contract.kernels import code
from eddy.core.counters import CoreCounters
from eddy.gpu.launches.executor import CAUSES
from eddy_drivers.gpu_cluster import (
    COUNTERS,
    NOWHERE,
    REGION_AT,
    GpuCluster,
    Kernel,
    QueueFull,
    RegionOverlap,
    TrapCause,
)
from eddy_drivers.regs import gpu_cluster as regs
from eddy_drivers.regs.base import Register
from eddy_sim.gpu import run

BASE = 0x10_0000
STEP_S = 1e-7


class World:
    """A bank with memory and time; every access takes a tenth of a microsecond."""

    def __init__(self, depth: int = 2) -> None:
        self.now_s, self.agenda, self.order = 0.0, list[tuple[float, int, Callable[[], None]]](), 0
        self.memory = bytearray(0x10_0000)
        self.interrupt = False
        self.stored: list[tuple[int, bytes, int]] = []
        around = Surroundings(
            self.access, self.at, self.read, lambda *burst: self.stored.append(burst), lambda *_: None, self.level
        )
        self.bank = FakeCluster(around)
        self.driver = GpuCluster(self.bank.description(), depth)

    def access(self) -> None:
        self.run(STEP_S)

    def run(self, delay_s: float) -> None:
        end_s = self.now_s + delay_s
        while self.agenda and self.agenda[0][0] <= end_s:
            self.now_s, _, what = heapq.heappop(self.agenda)
            what()
        self.now_s = end_s

    def at(self, delay_s: float, what: Callable[[], None]) -> None:
        self.order += 1
        heapq.heappush(self.agenda, (self.now_s + delay_s, self.order, what))

    def read(self, address: int, size: int) -> bytes:
        return bytes(self.memory[address - BASE : address - BASE + size])

    def level(self, level: bool) -> None:
        self.interrupt = level

    def kernel(self, program: str, cores: tuple[int, ...], place: int = 0, context: int | None = None) -> Kernel:
        """A kernel in the `place`-th region."""
        at = place * 0x2000
        self.memory[at : at + 256] = code(program).ljust(256, b"\0")
        return Kernel(REGION_AT, 9, BASE + at, 0x2000, cores, cores[0] if context is None else context)

    def writes(self, register: Register) -> list[int]:
        """What was written to a register (the first of its array)."""
        return [word for offset, word in self.bank.written if offset == register.offset]


@pytest.fixture
def world() -> World:
    return World()


def test_making_a_driver_touches_nothing_and_the_configuration_is_read_once(world: World) -> None:
    assert world.now_s == 0
    made = world.driver.configuration
    assert (made.cores, made.warps, made.threads, made.fpu) == (2, 2, 2, False)
    assert (made.icache_bytes, made.dcache_bytes, made.local_bytes) == (1024, 1024, 4096)
    before = world.now_s
    assert world.driver.configuration is made
    assert world.now_s == before


def test_a_kernel_starts_at_once_and_its_end_comes_with_an_interrupt(world: World) -> None:
    ticket = world.driver.launch(world.kernel("mark", (0, 1)))
    assert (world.driver.running, world.driver.waiting, world.driver.free) == ((ticket,), (), 2)
    assert world.driver.busy_cores() == (0, 1)
    assert world.driver.poll() == ()
    assert not world.interrupt
    world.run(1e-4)
    assert world.interrupt
    (end,) = world.driver.poll()
    assert not world.interrupt, "taken back"
    assert (end.ticket, end.halted, [core.core for core in end.cores]) == (ticket, False, [0, 1])
    assert [core.fault for core in end.cores] == [None, None]
    assert world.stored == [(BASE + 0x1000, b"\x09\0\0\0", 0), (BASE + 0x1004, b"\x09\0\0\0", 0)]
    assert world.driver.poll() == ()
    assert world.driver.running == ()


def test_cores_see_their_region_and_nothing_else(world: World) -> None:
    world.driver.launch(world.kernel("mark", (1, 0), place=3, context=5))
    for core, place in ((1, 0), (0, 1)):
        words = dict(world.bank.written)
        assert words[regs.CORE_BASE2.at(core)] == (BASE + 3 * 0x2000) // 4096
        assert [words[base.at(core)] for base in (regs.CORE_BASE0, regs.CORE_BASE1, regs.CORE_BASE3)] == [NOWHERE] * 3
        assert words[regs.CORE_CONTEXT.at(core)] == 5
        assert regs.CORE_PLACE.decode(words[regs.CORE_PLACE.at(core)]) == {"id": place, "count": 2}
    # The whole gibibyte that a base places is above every memory, and does not wrap.
    assert NOWHERE * 4096 + (1 << 30) == 1 << 40


def test_counters_are_sixty_four_bits_and_of_one_instant(world: World) -> None:
    ticket = world.driver.launch(world.kernel("mark", (0,)))
    shown = world.driver.wait(ticket).cores[0].counters
    counted = CoreCounters.of(shown)
    assert counted.cycles == (1 << 33) + 100
    assert sum(counted.cycle_thread) == counted.total_active_cycles == 10
    assert len(counted.cycle_thread) == 2
    assert set(shown) == {*COUNTERS, "cycle_thread_1", "cycle_thread_2"}
    assert set(dict(counted.others)) == set(COUNTERS) - {"cycles", "instructions", "total_active_cycles"}
    snapshots = world.writes(regs.SNAPSHOT)
    assert snapshots == [0], "one snapshot for all of them"


def test_high_words_are_read_where_there_are_any(world: World) -> None:
    assert world.driver.configuration.threads == 2
    for cycles, accesses in ((5, 1 + 1 + 18), (5 + (1 << 32), 1 + 1 + 2 * 18)):
        world.bank._cores[0].counters[0] = cycles
        before_s = world.now_s
        assert world.driver.counters(0)["cycles"] == cycles
        assert world.now_s - before_s == pytest.approx(accesses * STEP_S)


def test_kernels_on_disjoint_cores_run_at_once(world: World) -> None:
    slow = world.driver.launch(world.kernel("count", (0,)))
    quick = world.driver.launch(world.kernel("mark", (1,), place=1))
    assert list(world.driver.running) == [slow, quick]
    assert world.driver.wait(quick).ticket == quick
    assert list(world.driver.running) == [slow]
    assert world.driver.wait(slow).ticket == slow


def test_kernels_wait_for_their_cores_in_order_and_the_bound_shows(world: World) -> None:
    first = world.driver.launch(world.kernel("count", (0,)))
    # Wants both cores, so core 1 is kept for it: a stream of small kernels must not starve it.
    second = world.driver.launch(world.kernel("mark", (0, 1)))
    third = world.driver.launch(world.kernel("mark", (1,), place=1, context=9))
    assert (world.driver.running, world.driver.waiting, world.driver.free) == ((first,), (second, third), 0)
    before_s = world.now_s
    with pytest.raises(QueueFull, match="2 kernels wait"):
        world.driver.launch(world.kernel("mark", (1,), place=2, context=10))
    assert world.now_s - before_s < 1e-6, "answers at once"
    order = []
    for _ in range(2000):
        order += [end.ticket for end in world.driver.poll()]
    assert order == [first, second, third]
    assert world.driver.free == 2


def test_regions_of_kernels_that_may_run_at_once_never_overlap(world: World) -> None:
    running = world.kernel("count", (0,))
    world.driver.launch(running)
    other = world.kernel("mark", (1,), place=1)
    for address in (running.address, running.address + 0x1000, running.address - 0x1000):
        with pytest.raises(RegionOverlap, match=r"kernel 1"):
            world.driver.launch(dataclasses.replace(other, address=address))
    # The last page counts whole, because windows are of pages.
    with pytest.raises(RegionOverlap):
        world.driver.launch(dataclasses.replace(other, address=running.address - 0x1000, bytes=0x1001))
    with pytest.raises(ValueError, match="context"):
        world.driver.launch(dataclasses.replace(other, context=0))
    # One that waits for the same core never runs at the same time.
    world.driver.launch(running)
    # Nor may one meet what only waits.
    with pytest.raises(RegionOverlap, match=r"kernel"):
        world.driver.launch(dataclasses.replace(other, address=running.address))
    assert world.driver.free == 1


def test_slices_of_one_kernel_may_share_its_whole_region(world: World) -> None:
    running = dataclasses.replace(world.kernel("count", (0,)), family="7")
    other = dataclasses.replace(running, cores=(1,), context=1)
    first = world.driver.launch(running)
    with pytest.raises(RegionOverlap):
        world.driver.launch(dataclasses.replace(other, bytes=other.bytes - 0x1000))
    with pytest.raises(RegionOverlap):
        world.driver.launch(dataclasses.replace(other, family="8"))
    with pytest.raises(ValueError, match="context"):
        world.driver.launch(dataclasses.replace(other, context=0))
    assert world.driver.running == (first,)
    assert world.driver.launch(other) in world.driver.running


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"cores": ()}, "one or more"),
        ({"cores": (0, 0)}, "different"),
        ({"cores": (2,)}, "cores 0 to 1"),
        ({"address": BASE + 8}, "multiple of 4096"),
        ({"bytes": 0}, "bytes"),
        ({"bytes": (1 << 30) + 1}, "bytes"),
        ({"entry": REGION_AT + 2}, "multiple of 4"),
        ({"entry": REGION_AT + 0x2000}, "in its region"),
        ({"context": 16}, "memory_context"),
        ({"argument": 1 << 32}, "value"),
    ],
)
def test_kernels_that_cannot_be(world: World, change: dict[str, int], match: str) -> None:
    with pytest.raises(ValueError, match=match):
        world.driver.launch(dataclasses.replace(world.kernel("mark", (0,)), **change))  # type: ignore[arg-type]
    assert not world.writes(regs.LAUNCH)


def test_a_halted_kernel_ends_alone(world: World) -> None:
    spinning = world.driver.launch(world.kernel("spin", (0,)))
    neighbour = world.driver.launch(world.kernel("count", (1,), place=1))
    waiting = world.driver.launch(world.kernel("mark", (0,)))
    with pytest.raises(TimeoutError, match="halt it"):
        world.driver.wait(spinning, polls=50)
    world.driver.halt(waiting)
    world.driver.halt(spinning)
    assert world.writes(regs.HALT) == [1]
    ended = {end.ticket: end for end in world.driver.poll()}
    assert ended[waiting].halted
    assert ended[waiting].cores == ()
    assert world.driver.wait(spinning).halted
    end = world.driver.wait(neighbour)
    assert (end.halted, end.cores[0].fault) == (False, None)
    with pytest.raises(ValueError, match="no kernel"):
        world.driver.halt(spinning)


def test_a_fault_on_one_core_ends_the_kernel_on_all(world: World) -> None:
    """Core 1 of the kernel spins on for ever; core 0 traps."""
    ticket = world.driver.launch(world.kernel("illegal", (0, 1)))
    world.bank._cores[1].run += 1
    end = world.driver.wait(ticket, polls=1000)
    fault = end.cores[0].fault
    assert fault is not None
    assert (fault.cause, fault.pc, fault.value) == (TrapCause.ILLEGAL, 0x8000_0004, 0xFFFF_FFFF)
    assert end.cores[1].fault is None
    assert world.writes(regs.HALT)[0] == 2
    assert not end.halted, "nobody asked for it"


def test_what_ends_while_one_is_waited_for_is_kept(world: World) -> None:
    slow = world.driver.launch(world.kernel("count", (0,)))
    quick = world.driver.launch(world.kernel("mark", (1,), place=1))
    world.driver.wait(slow)
    assert [end.ticket for end in world.driver.poll()] == [quick]


def test_quiesce_stops_everything(world: World) -> None:
    world.driver.launch(world.kernel("spin", (0,)))
    world.driver.launch(world.kernel("mark", (0,)))
    world.driver.quiesce()
    assert (*world.driver.running, *world.driver.waiting) == ()
    world.run(1e-4)
    assert not world.interrupt
    assert world.driver.busy_cores() == ()
    ticket = world.driver.launch(world.kernel("mark", (0,)))
    world.run(1e-4)
    assert world.interrupt, "interrupts are on again"
    assert world.driver.wait(ticket).ticket == ticket


def test_causes_have_the_names_of_the_front_end() -> None:
    assert {cause.value: cause.name.lower() for cause in TrapCause} == dict(CAUSES)


def test_eddy_gpu_run_has_words_for_every_cause() -> None:
    assert set(run.CAUSES) == {cause.value for cause in TrapCause}
    assert all(run.CAUSES.values())
