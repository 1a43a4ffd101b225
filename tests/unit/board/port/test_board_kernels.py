# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Kernels on a cluster in a slot where the slot itself goes wrong, and what the firewall is told; in plain Python."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from contract.fake_cluster import FakeCluster
from contract.fake_fabric import FakeFabric, FakeSlot
from contract.gpu_harness import CLUSTER, GpuHarness, fake
from contract.kernels import MODULE
from eddy.board.model.model_modules import cluster_shape
from eddy.board.overlay.module_window import ModuleWindow
from eddy.board.port.port import Buffer, Cause, EventKind, SlotPhase
from eddy.board.pynq.cluster_runner import HALT_BOUND_S
from eddy.board.pynq.fabric import NO_WINDOW, Window
from eddy.board.pynq.pynq import PynqBoard
from eddy.core.errors import Conflict
from eddy_drivers.hls_accelerator import HlsAccelerator
from eddy_drivers.regs import gpu_cluster as regs
from eddy_drivers.regs import identity
from unit.drivers.test_board_drivers import Registers


@pytest.fixture
def gpu(tmp_path: Path) -> Iterator[GpuHarness]:
    harness = fake(tmp_path)
    yield harness
    harness.inner.close()


def slot_of(gpu: GpuHarness) -> FakeSlot:
    assert isinstance(gpu.board, PynqBoard)
    fabric = gpu.board._fabric
    assert isinstance(fabric, FakeFabric)
    return fabric.models[CLUSTER]


def window(region: Buffer, context: int) -> Window:
    first = region.address // 4096
    return Window(first, first + 1, read=True, write=True, contexts=1 << context)


def phase(gpu: GpuHarness) -> SlotPhase:
    return gpu.board.state().slots[CLUSTER].phase


def test_a_kernel_has_one_window_for_its_context_while_it_runs(gpu: GpuHarness) -> None:
    slot, left, right = slot_of(gpu), gpu.region("count"), gpu.region("mark")
    gpu.launch(right, item="right", cores=(1,))
    assert list(slot.windows) == [NO_WINDOW, window(right, 1)]
    gpu.launch(left, item="left", cores=(0,))
    assert list(slot.windows) == [window(left, 0), window(right, 1)]
    assert gpu.next_event().item == "right"
    assert list(slot.windows) == [window(left, 0)], "the neighbour's stays as and where it was"
    gpu.board.free(right.id)
    with pytest.raises(Conflict):
        gpu.board.free(left.id)
    assert gpu.next_event().item == "left"
    assert list(slot.reachable) == []


def test_a_core_that_does_not_stop_costs_the_slot(gpu: GpuHarness, monkeypatch: pytest.MonkeyPatch) -> None:
    bank = slot_of(gpu).bank
    kept = FakeCluster._write
    deaf = lambda self, offset, word: None if offset == regs.HALT.offset else kept(self, offset, word)  # noqa: E731
    gpu.launch(gpu.region("spin"), item="deaf", cores=(0,), limit_s=1e-4)
    gpu.launch(gpu.region("spin"), item="neighbour", cores=(1,), limit_s=1.0)
    monkeypatch.setattr(FakeCluster, "_write", deaf)
    began_s = gpu.board.now_s()
    events = [gpu.next_event(), gpu.next_event()]
    assert gpu.board.now_s() - began_s < 1e-4 + 2 * HALT_BOUND_S + 1e-3
    causes = [("deaf", Cause.TIME_LIMIT), ("neighbour", Cause.MODULE_ERROR)]
    assert [(event.item, event.cause) for event in events] == causes
    for event in events:
        assert (event.kind, event.cores) == (EventKind.ITEM_FAILED, ())
        assert "did not stop" in event.detail
    assert phase(gpu) is SlotPhase.FAULTED
    assert bank is slot_of(gpu).bank


@pytest.mark.parametrize("cause", [Cause.CONTROL_TIMEOUT, Cause.CLOCK_LOST, Cause.RESPONSE_STALLED])
def test_a_fault_of_the_slot_ends_every_kernel_in_it(gpu: GpuHarness, cause: Cause) -> None:
    for core in (0, 1):
        gpu.launch(gpu.region("spin"), item=f"k{core}", cores=(core,), limit_s=1.0)
    slot_of(gpu).raise_fault(cause, "as the test wants it")
    events = [gpu.next_event(), gpu.next_event()]
    assert [(event.item, event.cause, event.detail) for event in events] == [
        ("k0", cause, "as the test wants it"),
        ("k1", cause, "as the test wants it"),
    ]
    # What was read of a module that does not answer is no report.
    assert [event.cores for event in events] == [(), ()]
    assert phase(gpu) is SlotPhase.FAULTED


def test_a_fault_of_no_kernel_is_the_slots(gpu: GpuHarness) -> None:
    gpu.launch(gpu.region("spin"), item="spin", cores=(0,), limit_s=1.0)
    slot_of(gpu).raise_fault(Cause.READ_OUTSIDE_WINDOW, "context 9", context=9)
    assert gpu.next_event().cause is Cause.READ_OUTSIDE_WINDOW
    assert phase(gpu) is SlotPhase.FAULTED


def test_two_kernels_that_stray_at_once_are_both_named(gpu: GpuHarness) -> None:
    for core in (0, 1):
        gpu.launch(gpu.region("store-outside"), item=f"k{core}", cores=(core,))
    events = {event.item: event for event in (gpu.next_event(), gpu.next_event())}
    assert {event.cause for event in events.values()} == {Cause.WRITE_OUTSIDE_WINDOW}
    assert [events[f"k{core}"].cores[0].core for core in (0, 1)] == [0, 1]


def test_a_start_that_fails_opens_nothing(gpu: GpuHarness, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(self: FakeCluster, index: int, value: int) -> None:
        raise OSError("the bus is gone")

    region = gpu.region("mark")
    with monkeypatch.context() as patch:
        patch.setattr(FakeCluster, "__setitem__", fails)
        with pytest.raises(OSError, match="bus"):
            gpu.launch(region)
    assert slot_of(gpu).reachable == ()
    assert gpu.board.state().slots[CLUSTER].items == ()
    assert phase(gpu) is SlotPhase.IDLE
    gpu.board.free(region.id)


def test_a_load_forgets_what_the_last_cluster_ran(gpu: GpuHarness) -> None:
    gpu.launch(gpu.region("spin"), item="spin", limit_s=1.0)
    gpu.board.stop(CLUSTER)
    assert gpu.next_event().cause is Cause.STOPPED
    gpu.load(CLUSTER, MODULE)
    assert gpu.board.state().slots[CLUSTER].items == ()
    gpu.launch(gpu.region("mark"), item="mark")
    assert gpu.next_event().kind is EventKind.ITEM_DONE


@pytest.mark.parametrize(
    ("kind", "major", "known", "cluster"),
    [(1, 1, True, False), (2, 1, True, True), (2, 2, False, False), (1, 2, False, False), (3, 1, False, False)],
)
def test_the_identity_chooses_the_driver(kind: int, major: int, known: bool, cluster: bool) -> None:
    registers = Registers()
    description = registers.description()
    module = ModuleWindow(HlsAccelerator(description), description)
    for offset, word in (
        (identity.MAGIC, 0x45444459),
        (identity.KIND, kind << 16 | major << 8),
        (regs.CONFIG, 0x20202),
    ):
        registers.words[offset.offset // 4] = word
    assert module.cluster is None
    found = module.identity()
    assert module.has_driver(found) is known
    assert (module.cluster is not None) is cluster
    if module.cluster is None:
        return
    with pytest.raises(Conflict, match="fenced"):
        module.cluster.poll()
    module.unfence()
    assert module.cluster.shape.cores == 2
    before, _ = module.cluster, module.identity()
    assert module.cluster is not before, "what the last driver knew ended with the module"
    registers.words[:] = 0
    module.quiesce()
    assert registers.words[regs.HALT.offset // 4] == 0xFF


def test_names_that_say_what_a_cluster_is() -> None:
    shape = cluster_shape("gpu_2c4w8tx")
    assert shape is not None
    assert (shape.cores, shape.warps, shape.threads, shape.fpu) == (2, 4, 8, False)
    assert cluster_shape("gpu_1c4w4t") is not None
    assert [cluster_shape(name) for name in ("dct", "gpu", "gpu_fast", "my_gpu_1c4w4t")] == [None] * 4
