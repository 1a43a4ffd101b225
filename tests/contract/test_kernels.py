# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Kernels on a GPU cluster: how they start, end and fail, alone and side by side, on every board."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from pathlib import Path

import pytest
from contract.gpu_harness import ACCELERATOR, CLUSTER, GpuHarness, opened
from contract.kernels import BAD, CORES, MODULE, REGION_BYTES, THREADS, kernel, name_of
from eddy.board.port.port import Access, BoardEvent, Cause, EventKind, Grant, Launch, SlotPhase
from eddy.core.errors import Conflict, InvalidRequest, NotFound

RTL = [pytest.mark.rtl, pytest.mark.xdist_group("board-rtl")]


@pytest.fixture(params=["fake", "model", pytest.param("rtl", marks=RTL), pytest.param("socket-rtl", marks=RTL)])
def gpu(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[GpuHarness]:
    with opened(request.param, tmp_path, monkeypatch) as harness:
        yield harness


def phase(gpu: GpuHarness) -> SlotPhase:
    return gpu.board.state().slots[CLUSTER].phase


def check_counts(gpu: GpuHarness, event: BoardEvent, cores: tuple[int, ...]) -> None:
    """Reports are there, of these cores, and add up."""
    assert tuple(report.core for report in event.cores) == cores
    for report in event.cores:
        counted = report.counters
        assert len(counted.cycle_thread) == THREADS
        assert sum(counted.cycle_thread) == counted.total_active_cycles
        assert counted.cycles > 0
        assert (counted.instructions > 0) == gpu.executes
        if gpu.executes:
            assert counted.total_active_cycles > 0
            assert {"loads", "stall_memory", "data_misses", "line_writes"} <= dict(counted.others).keys()


def test_a_kernel_runs_on_all_cores_and_reports(gpu: GpuHarness) -> None:
    region = gpu.region("mark")
    gpu.launch(region, argument=42)
    state = gpu.board.state().slots[CLUSTER]
    assert (state.phase, state.item, state.items) == (SlotPhase.RUNNING, "kernel", ("kernel",))
    event = gpu.next_event()
    assert (event.kind, event.slot, event.item) == (EventKind.ITEM_DONE, CLUSTER, "kernel")
    assert (event.cause, event.detail) == (Cause.NONE, "")
    assert event.started_s < event.at_s
    check_counts(gpu, event, tuple(range(CORES)))
    assert not any(report.fault for report in event.cores)
    assert gpu.results(region) == [42, 42]
    assert phase(gpu) is SlotPhase.IDLE


def test_kernels_follow_each_other_in_one_region_and_in_others(gpu: GpuHarness) -> None:
    first, second = gpu.region("mark"), gpu.region("count")
    for number, region in enumerate((first, second, first)):
        gpu.launch(region, item=f"k{number}", argument=100 + number)
        assert gpu.next_event().kind is EventKind.ITEM_DONE
    assert (gpu.results(first), gpu.results(second)) == ([102, 102], [101, 101])


@pytest.mark.parametrize("program", BAD)
def test_a_bad_kernel_ends_with_its_cause_and_the_slot_serves_again(gpu: GpuHarness, program: str) -> None:
    gpu.launch(gpu.region(program), limit_s=3e-4)
    cause, fault = BAD[program]
    event = gpu.next_event()
    assert (event.kind, event.item, event.cause) == (EventKind.ITEM_FAILED, "kernel", cause), event.detail
    assert event.detail
    assert event.at_s - event.started_s < 3e-4 + 2e-4
    check_counts(gpu, event, (0, 1))
    if gpu.executes:
        assert {report.fault for report in event.cores} == {fault}
        assert fault in event.detail
    assert phase(gpu) is SlotPhase.FAULTED
    assert gpu.load(CLUSTER, MODULE).kind is EventKind.CONFIGURED
    region = gpu.region("mark")
    gpu.launch(region, item="after")
    assert gpu.next_event().kind is EventKind.ITEM_DONE
    assert gpu.results(region) == [7, 7]


def test_kernels_run_side_by_side_on_disjoint_cores(gpu: GpuHarness) -> None:
    slow, quick = gpu.region("count", owner="ada"), gpu.region("mark", owner="grace")
    gpu.launch(slow, item="slow", cores=(0,), argument=1)
    gpu.launch(quick, item="quick", cores=(1,), argument=2)
    assert gpu.board.state().slots[CLUSTER].items == ("slow", "quick")
    first, second = gpu.next_event(), gpu.next_event()
    assert [(e.item, e.kind) for e in (first, second)] == [
        ("quick", EventKind.ITEM_DONE),
        ("slow", EventKind.ITEM_DONE),
    ]
    check_counts(gpu, first, (1,))
    check_counts(gpu, second, (0,))
    # A kernel sees its cores numbered from zero, whichever they are.
    assert gpu.results(slow)[0] == 1
    assert gpu.results(quick)[0] == 2
    assert phase(gpu) is SlotPhase.IDLE


@pytest.mark.parametrize("program", ["store-outside", "illegal", "spin"])
def test_a_bad_neighbour_harms_only_itself(gpu: GpuHarness, program: str) -> None:
    # The page behind the bad one's region is the good one's program.
    bad, good = gpu.region(program), gpu.region("count")
    gpu.launch(good, item="good slow", cores=(1,))
    gpu.launch(bad, item="bad", cores=(0,), limit_s=6e-5)
    events = {event.item: event for event in (gpu.next_event(), gpu.next_event())}
    assert events["bad"].cause is BAD[program][0], events["bad"].detail
    assert events["bad"].at_s < events["good slow"].at_s
    assert events["good slow"].kind is EventKind.ITEM_DONE
    assert gpu.results(good)[0] == 7
    assert phase(gpu) is SlotPhase.IDLE, "the slot was the neighbour's"
    assert good.address == bad.address + REGION_BYTES
    assert name_of(gpu.board.read(good.id, 0, 256)) == "count"
    # The cores of the bad one serve again at once.
    region = gpu.region("mark")
    gpu.launch(region, item="after")
    assert gpu.next_event().kind is EventKind.ITEM_DONE
    assert gpu.results(region) == [7, 7]


def test_one_kernel_is_stopped_and_the_other_goes_on(gpu: GpuHarness) -> None:
    spinning, good = gpu.region("spin"), gpu.region("count")
    gpu.launch(spinning, item="spinning", cores=(0,), limit_s=1.0)
    gpu.launch(good, item="good slow", cores=(1,))
    gpu.board.stop(CLUSTER, "nobody")
    gpu.board.stop(CLUSTER, "spinning")
    event = gpu.next_event()
    assert (event.item, event.kind, event.cause) == ("spinning", EventKind.ITEM_FAILED, Cause.STOPPED)
    assert gpu.board.state().slots[CLUSTER].items == ("good slow",)
    assert gpu.next_event().kind is EventKind.ITEM_DONE
    assert gpu.results(good)[0] == 7


def test_stopping_the_slot_stops_every_kernel_and_closes_it(gpu: GpuHarness) -> None:
    for core in range(CORES):
        gpu.launch(gpu.region("spin"), item=f"k{core}", cores=(core,), limit_s=1.0)
    gpu.board.stop(CLUSTER)
    events = [gpu.next_event() for _ in range(CORES)]
    assert {event.item for event in events} == {"k0", "k1"}
    assert {event.cause for event in events} == {Cause.STOPPED}
    assert phase(gpu) in (SlotPhase.EMPTY, SlotPhase.FAULTED)


def test_kernels_that_would_meet_are_refused(gpu: GpuHarness) -> None:
    running = gpu.region("count")
    gpu.launch(running, item="slow", cores=(0,))
    other = gpu.region("mark")
    with pytest.raises(Conflict, match=r"cores \[0\] run another item") as core:
        gpu.launch(other, item="same core")
    with pytest.raises(Conflict, match="share no memory") as region:
        gpu.launch(running, item="same region", cores=(1,))
    with pytest.raises(Conflict) as freed:
        gpu.board.free(running.id)
    with pytest.raises(Conflict) as loaded:
        gpu.load(CLUSTER, MODULE)
    for refused in (core, region, freed, loaded):
        assert "slow" not in refused.value.message, "the item may be another tenant's"
    assert gpu.next_event().kind is EventKind.ITEM_DONE


def test_a_launch_must_be_one_for_the_module_in_the_slot(gpu: GpuHarness) -> None:
    gpu.load(ACCELERATOR)
    region = gpu.region("mark")
    with pytest.raises(InvalidRequest, match="kernel") as refused:
        gpu.board.launch(ACCELERATOR, kernel(region))
    assert refused.value.details["field"] == "kernel"
    with pytest.raises(InvalidRequest, match="cluster"):
        gpu.board.launch(CLUSTER, Launch("x", ((0x10, 0),), (), 1e-3))
    assert phase(gpu) is SlotPhase.IDLE


def test_launches_no_cluster_can_take_are_refused(gpu: GpuHarness) -> None:
    region, other = gpu.region("mark"), gpu.board.allocate(8, "job")
    good = kernel(region)
    assert good.kernel is not None
    asked = good.kernel
    for field, launch in {
        "registers": dataclasses.replace(good, registers=((0x100, 0),)),
        "grants": dataclasses.replace(good, grants=(Grant(region.id, Access.READ),)),
        "kernel.entry": dataclasses.replace(good, kernel=dataclasses.replace(asked, entry=0x8000_2000)),
        "kernel.argument": dataclasses.replace(good, kernel=dataclasses.replace(asked, argument=1 << 32)),
        "kernel.cores": dataclasses.replace(good, kernel=dataclasses.replace(asked, cores=(0, 2))),
    }.items():
        with pytest.raises(InvalidRequest) as refused:
            gpu.board.launch(CLUSTER, launch)
        assert refused.value.details["field"] == field
    both = (*good.grants, Grant(other.id, Access.READ))
    with pytest.raises(InvalidRequest, match="nothing else"):
        gpu.board.launch(CLUSTER, dataclasses.replace(good, grants=both))
    gone = dataclasses.replace(
        good, kernel=dataclasses.replace(asked, region=99), grants=(Grant(99, Access.READ_WRITE),)
    )
    with pytest.raises(NotFound):
        gpu.board.launch(CLUSTER, gone)
    gpu.board.launch(CLUSTER, good)
    assert gpu.next_event().kind is EventKind.ITEM_DONE


@pytest.mark.parametrize("kind", ["fake", "model", pytest.param("rtl", marks=RTL)])
def test_runs_repeat_exactly(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []
    for turn in ("a", "b"):
        folder = tmp_path / turn
        folder.mkdir()
        with opened(kind, folder, monkeypatch) as gpu:
            for core, program in enumerate(("count", "store-outside")):
                gpu.launch(gpu.region(program), item=f"slow {program}", cores=(core,))
            seen.append([gpu.next_event(), gpu.next_event()])
    assert seen[0] == seen[1]


def test_slices_of_one_kernel_share_their_region_side_by_side(gpu: GpuHarness) -> None:
    """Each on a core, under one family; with another family, or none, the region is somebody's."""

    def part(item: str, core: int, family: str) -> Launch:
        plain = kernel(region, item=item, argument=60 + core, cores=(core,))
        assert plain.kernel is not None
        return dataclasses.replace(plain, kernel=dataclasses.replace(plain.kernel, family=family))

    region = gpu.region("count")
    gpu.board.launch(CLUSTER, part("slow a", 0, "7"))
    for family in ("8", ""):
        with pytest.raises(Conflict, match="share no memory"):
            gpu.board.launch(CLUSTER, part("b", 1, family))
    gpu.board.launch(CLUSTER, part("slow b", 1, "7"))
    assert gpu.board.state().slots[CLUSTER].items == ("slow a", "slow b")
    events = [gpu.next_event() for _ in range(2)]
    assert {event.item for event in events} == {"slow a", "slow b"}
    assert all(event.kind is EventKind.ITEM_DONE for event in events)
    # Each believes that it is the kernel's first core, and leaves its argument there; the last one's stays.
    assert gpu.results(region)[0] in (60, 61)
    gpu.board.free(region.id)
    assert phase(gpu) is SlotPhase.IDLE
