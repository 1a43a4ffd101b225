# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Memory is handed on only with proof that its last user reaches it no more, and there is no way round."""

from __future__ import annotations

import ast
from pathlib import Path

import eddy.board
import pytest
from contract.fake_fabric import FakeFabric, FakeSlot
from contract.gpu_harness import CLUSTER, GpuHarness
from contract.gpu_harness import fake as fake_gpu
from contract.harness import Harness, fake, marking
from eddy.board.images.images import ImageStore
from eddy.board.images.signing import Trust
from eddy.board.port.port import Access, Cause, EventKind, SlotPhase
from eddy.board.port.profile import load_profile
from eddy.board.pynq.memory_gate import ITEM_DRAIN_BOUND_S, Loan, NotDrained, QuiescenceProof
from eddy.board.pynq.pynq import PynqBoard
from eddy.core.errors import BoardFault
from eddy.core.units import format_duration

BOARD = Path(eddy.board.__file__).parent


@pytest.fixture
def harness(tmp_path: Path) -> Harness:
    return fake(tmp_path)


def slot_of(board: object, index: int = 0) -> FakeSlot:
    assert isinstance(board, PynqBoard)
    assert isinstance(board._fabric, FakeFabric)
    return board._fabric.models[index]


def test_an_idle_module_reaches_nothing(harness: Harness) -> None:
    harness.load(0)
    buffer, slot = harness.board.allocate(8, "job"), slot_of(harness.board)
    assert slot.reachable == ()
    harness.launch(buffer)
    assert len(slot.reachable) == 1
    harness.next_event()
    assert slot.reachable == ()
    slot.store(buffer.address, b"later")
    assert harness.board.wait(harness.board.now_s() + 1e-3) == ()
    assert harness.board.state().slots[0].phase is SlotPhase.FAULTED
    assert b"later" not in harness.board.read(buffer.id, 0, 8)


def test_what_is_asked_for_after_done_fails_the_item(harness: Harness, monkeypatch: pytest.MonkeyPatch) -> None:
    harness.load(0)
    buffer, slot = harness.board.allocate(8, "job"), slot_of(harness.board)
    kept = FakeSlot.revoke

    def revoke(self: FakeSlot) -> None:
        kept(self)
        self.store(buffer.address, b"tail")

    monkeypatch.setattr(FakeSlot, "revoke", revoke)
    harness.launch(buffer)
    event = harness.next_event()
    assert (event.kind, event.cause) == (EventKind.ITEM_FAILED, Cause.MODULE_ERROR)
    assert "made memory requests after that" in event.detail
    assert slot.reachable == ()


def test_what_does_not_drain_fails_the_item_and_keeps_its_memory(harness: Harness) -> None:
    harness.load(0)
    board, slot = harness.board, slot_of(harness.board)
    buffer = board.allocate(8, "job")
    slot.memory_drains = False
    began_s = board.now_s()
    harness.launch(buffer)
    event = harness.next_event()
    assert (event.cause, board.state().slots[0].phase) == (Cause.MODULE_ERROR, SlotPhase.FAULTED)
    assert format_duration(ITEM_DRAIN_BOUND_S) in event.detail
    assert board.now_s() - began_s < 5e-3
    # Freed it is, as far as its owner is concerned; nobody gets it.
    board.free(buffer.id)
    assert board.state().buffers == ()
    others = [board.allocate(8, "other") for _ in range(3)]
    assert buffer.address not in [other.address for other in others]
    # Once the memory has answered, the pages are found again by the next call that frees.
    slot.memory_drains = True
    board.free(others[0].id)
    assert board.allocate(8, "next").address == buffer.address


def test_a_slot_with_something_outstanding_is_lent_nothing(harness: Harness) -> None:
    harness.load(0)
    board, slot = harness.board, slot_of(harness.board)
    buffer, other = board.allocate(8, "job"), board.allocate(8, "other")
    slot.memory_drains = False
    harness.launch(buffer)
    harness.next_event()
    assert harness.load(0).kind is EventKind.CONFIGURED
    with pytest.raises(BoardFault, match="outstanding"):
        harness.launch(other, "next")
    assert slot.reachable == ()
    slot.memory_drains = True
    harness.launch(other, "next")
    assert harness.next_event().kind is EventKind.ITEM_DONE


def test_a_board_whose_memory_does_not_answer_is_not_taken_over(tmp_path: Path) -> None:
    profile = load_profile("tiny")
    fabric = FakeFabric(profile)
    fabric.models[1].memory_drains = False
    with pytest.raises(BoardFault, match="slot 1"):
        PynqBoard(fabric, fabric.time, profile, ImageStore(tmp_path), Trust(False))


def test_a_start_that_fails_leaves_nothing_open(harness: Harness, monkeypatch: pytest.MonkeyPatch) -> None:
    harness.load(0)
    buffer = harness.board.allocate(8, "job")

    def broken(self: FakeSlot) -> None:
        raise OSError("the bus is gone")

    monkeypatch.setattr(FakeSlot, "start", broken)
    with pytest.raises(OSError, match="bus"):
        harness.launch(buffer)
    assert slot_of(harness.board).running is False
    assert harness.board.state().slots[0].phase is SlotPhase.FAULTED
    harness.board.free(buffer.id)
    assert harness.board.allocate(8, "next").address == buffer.address


@pytest.fixture
def gpu(tmp_path: Path) -> GpuHarness:
    return fake_gpu(tmp_path)


def test_a_kernel_that_ends_beside_another_is_drained_with_the_slot_still(gpu: GpuHarness) -> None:
    slot = slot_of(gpu.board, CLUSTER)
    gpu.launch(gpu.region("spin"), item="spin", cores=(0,), limit_s=1.0)
    region = gpu.region("mark")
    gpu.launch(region, item="mark", cores=(1,))
    slot.log.clear()
    assert gpu.next_event().item == "mark"
    calls = [call for call in slot.log if call in ("set_windows", "stop_memory", "resume_memory", "revoke")]
    assert calls == ["set_windows", "stop_memory", "resume_memory"]
    assert not slot.quiet
    # What its core stores now reaches nothing, though the neighbour's window is open.
    slot.store(region.address, b"late", context=1)
    assert b"late" not in gpu.board.read(region.id, 0, 4096)


def test_a_kernel_that_does_not_drain_costs_the_cluster(gpu: GpuHarness) -> None:
    slot = slot_of(gpu.board, CLUSTER)
    gpu.launch(gpu.region("spin"), item="spin", cores=(0,), limit_s=1.0)
    region = gpu.region("mark")
    gpu.launch(region, item="mark", cores=(1,))
    slot.memory_drains = False
    events = [gpu.next_event(), gpu.next_event()]
    assert {(event.item, event.cause) for event in events} == {
        ("spin", Cause.MODULE_ERROR),
        ("mark", Cause.MODULE_ERROR),
    }
    gpu.board.free(region.id)
    assert gpu.board.allocate(4096, "other").address != region.address


def test_a_proof_is_made_by_the_hardware_alone(harness: Harness) -> None:
    slot = slot_of(harness.board)
    clock = harness.board.clock  # type: ignore[attr-defined]
    slot.memory_drains = False
    with pytest.raises(NotDrained):
        QuiescenceProof(Loan({}), slot, clock)
    slot.memory_drains = True
    slot.revoked = False
    slot.quiet = False
    with pytest.raises(AssertionError, match="stay true"):
        QuiescenceProof(Loan({}), slot, clock)


OPENS = {
    "set_windows": {"memory_gate.py", "swap.py", "control_bank.py"},
    "admit": {"memory_gate.py"},
    "resume_memory": {"memory_gate.py"},
    "open_memory": {"swap.py"},
    "lend": {"memory_gate.py"},
    "end": {"memory_gate.py"},
    "Loan": {"arena.py", "slot_steps.py"},
    "QuiescenceProof": {"memory_gate.py", "slot_steps.py"},
}
"""Calls that let a slot reach memory, or end a loan, and the files that may make them."""


def test_memory_is_opened_and_taken_back_in_one_place() -> None:
    found: dict[str, set[str]] = {name: set() for name in OPENS}
    for path in BOARD.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call):
                name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
                if name in found and not (name == "admit" and "store" in ast.unparse(node.func)):
                    found[name].add(path.name)
    assert found == OPENS


def test_a_grant_by_two_names_is_one_window(harness: Harness) -> None:
    harness.load(0)
    buffer = harness.board.allocate(8, "job")
    launch = marking(buffer, access=Access.READ)
    harness.board.launch(0, type(launch)("x", launch.registers, (*launch.grants, *marking(buffer).grants), 1e-3))
    (window,) = slot_of(harness.board).reachable
    assert (window.read, window.write) == (True, True)
    assert harness.next_event().kind is EventKind.ITEM_DONE
