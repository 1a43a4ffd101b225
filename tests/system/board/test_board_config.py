# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The configuration port: its time, its noise, its failures."""

from __future__ import annotations

from pathlib import Path

import pytest
from eddy.core.errors import Conflict
from eddy_sim.boards import faults
from eddy_sim.boards.board import SimBoard, StopReason
from eddy_sim.design import build
from system.board.board_rig import BUILD, CONTROL, MS, OPEN_ALL, PAYLOAD, bank, load, module, open_slot, page, tiny

pytestmark = pytest.mark.rtl

CFG_STATUS = 0x18


def load_cycles(board: SimBoard, payload_bytes: int, fault: faults.LoadFault | None = None) -> int:
    begin = board.shell_cycles
    board.start_config(0, build.build_rogue(), payload_bytes, fault, (BUILD, 1))
    assert board.step_until_fs(board.now_fs + 100 * MS, StopReason.CONFIG) & StopReason.CONFIG
    return board.shell_cycles - begin


def test_a_load_takes_bytes_over_rate_and_twice_the_same() -> None:
    profile = tiny()
    counts = []
    for _ in range(2):
        with SimBoard(profile) as board:
            counts.append([load_cycles(board, size) for size in (8_000, 20_000, 1_000_003)])
    assert counts[0] == counts[1]
    for cycles, size in zip(counts[0], (8_000, 20_000, 1_000_003), strict=True):
        assert cycles == pytest.approx(size / profile.configuration.bytes_per_s * profile.shell_hz, rel=0.01)


def test_a_slow_port_takes_as_many_times_longer() -> None:
    with SimBoard(tiny()) as board:
        normal = load_cycles(board, PAYLOAD)
        assert load_cycles(board, PAYLOAD, faults.slow_port(7.5)) == pytest.approx(7.5 * normal, rel=0.01)


def test_status_follows_the_load() -> None:
    with SimBoard(tiny()) as board:
        assert board.read32(CFG_STATUS) & 7 == 0b011
        board.start_config(0, build.build_rogue(), PAYLOAD)
        board.step_until_fs(board.now_fs + MS // 10_000)  # the port has a clock of its own
        assert board.read32(CFG_STATUS) & 7 == 0b000
        board.step_until_fs(board.now_fs + MS, StopReason.CONFIG)
        board.step_until_fs(board.now_fs + MS // 10_000)
        assert board.read32(CFG_STATUS) & 0x107 == 0b1_0000_0011


def test_a_file_that_is_no_module_is_told_of_until_the_next_load(tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.so"
    wrong.write_text("no shared object")
    with SimBoard(tiny()) as board:
        board.start_config(0, wrong, PAYLOAD)
        assert board.load_error == ""
        assert board.step_until_fs(board.now_fs + 100 * MS, StopReason.CONFIG) == StopReason.CONFIG
        assert "wrong.so" in board.load_error
        assert not board.loaded(0)
        board.start_config(0, build.build_rogue(), PAYLOAD)
        board.step_until_fs(board.now_fs + 100 * MS, StopReason.CONFIG)
        assert (board.load_error, board.loaded(0)) == ("", True)


def test_a_failed_load_says_so_and_leaves_the_slot_without_a_module() -> None:
    with SimBoard(tiny()) as board:
        load(board, 0, build.build_rogue(), faults.FAILED_LOAD)
        board.step_until_fs(board.now_fs + MS // 10_000)
        assert board.read32(CFG_STATUS) & 0x204 == 0x204
        assert not board.loaded(0)


def test_one_load_at_a_time() -> None:
    with SimBoard(tiny()) as board:
        board.start_config(0, build.build_rogue(), PAYLOAD)
        with pytest.raises(Conflict):
            board.start_config(1, build.build_rogue(), PAYLOAD)


def test_the_boundary_carries_noise_during_a_load() -> None:
    """With the slot wrongly left open, what a load does to the boundary reaches the shell."""
    with SimBoard(tiny()) as board:
        board.write32(bank(0, CONTROL), OPEN_ALL)
        board.step_until_fs(board.now_fs + MS // 1000)
        quiet = board.statistics().shell_evaluated
        begin = board.shell_cycles
        board.start_config(0, build.build_rogue(), 100_000)
        board.step_until_fs(board.now_fs + MS, StopReason.CONFIG)
        assert board.statistics().shell_evaluated - quiet > 256
        assert board.shell_cycles - begin == 25_000


def test_noise_changes_nothing_behind_a_closed_decoupler() -> None:
    with SimBoard(tiny()) as board:
        board.device_dram[:] = 0
        load(board, 0, build.build_rogue())
        assert board.read32(bank(0, 0x020)) == 0
        assert not board.device_dram.any()
        assert board.served.statistics().read_bytes == 0


@pytest.mark.parametrize(
    ("fault", "magic"), [(None, 0x45444459), (faults.WRONG_IDENTITY, 0x45E14403), (faults.DEAD_IMAGE, 0xDEADF000)]
)
def test_what_comes_up_shows_in_its_identity(fault: faults.LoadFault | None, magic: int) -> None:
    with SimBoard(tiny()) as board:
        load(board, 0, build.build_rogue(), fault)
        open_slot(board, 0, page(board, 0), page(board, 0))
        assert board.read32(module(0, 0xF000)) == magic


def test_one_module_in_two_slots_keeps_two_states() -> None:
    with SimBoard(tiny()) as board:
        for slot in (0, 1):
            load(board, slot, build.build_rogue())
            open_slot(board, slot, page(board, slot), page(board, slot))
            board.write32(module(slot, 0x10), 0x111 * (slot + 1))
        assert [board.read32(module(slot, 0x10)) for slot in (0, 1)] == [0x111, 0x222]
