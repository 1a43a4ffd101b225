# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""`eddy board-test` on the RTL: it passes on a good board, and each fault fails the step that is there for it."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import random
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest
from contract.harness import Harness, opened
from eddy.board.images.signing import Trust, generate, load_key
from eddy.board.port.port import BoardPort, SlotPhase
from eddy.board.port.profile import load_profile
from eddy.board.pynq.dram_finder import profile_map
from eddy.board.remote.factory import open_device
from eddy.board.selftest.board_test import ITEM_MODULE, LEFT_OUT, SelfTestEnvironment, canonical, report, run
from eddy.board.selftest.board_test_dram import DRAM_MAP, PROBE, SIMULATED, dram_map
from eddy.board.selftest.board_test_past import (
    CLOCKS,
    DAMAGED,
    damaged_image,
    find_highest_correct_clock,
    highest_clocks,
)
from eddy.board.selftest.board_test_steps import StepOutcome, StepReport, load, load_failure
from eddy.board.selftest.known_answers import KnownAnswer, find_mismatch, known_answers
from eddy.core.slots import Image
from eddy.core.units import format_bytes
from eddy_sim.boards import faults
from eddy_sim.boards.board import SimBoard
from eddy_sim.design import bitfile, bitstreams
from eddy_sim.device import SimClock, SimDevice

pytestmark = [pytest.mark.rtl, pytest.mark.xdist_group("board-rtl")]
MODULES = (ITEM_MODULE, "quantize")


class Few:
    """A board with images of two modules only: the others would be built first."""

    def __init__(self, board: BoardPort, modules: tuple[str, ...] = MODULES) -> None:
        self._board, self._modules = board, modules

    def __getattr__(self, name: str) -> Any:
        return getattr(self._board, name)

    def images(self) -> tuple[Image, ...]:
        return tuple(image for image in self._board.images() if image.module in self._modules)


@pytest.fixture
def harness(tmp_path: Path) -> Iterator[Harness]:
    with opened("rtl", tmp_path) as found:
        yield found


def outcomes(harness: Harness, sysfs: Path, swaps: int = 6) -> dict[str, StepReport]:
    board = cast(BoardPort, Few(harness.board))
    return {step.step: step for step in run(board, swaps, SelfTestEnvironment(lambda: 0.0, None, sysfs))}


def test_a_good_board_passes_what_can_be_run_and_names_the_rest(harness: Harness, tmp_path: Path) -> None:
    found = outcomes(harness, tmp_path)
    passed = {name for name, step in found.items() if step.outcome is StepOutcome.PASS}
    assert passed == {"shell", "images", "memory", "load time", "coherency", "swaps"}
    left = {name for name, step in found.items() if step.outcome is StepOutcome.NOT_RUN}
    assert left == {"time", "temperature", "power", DRAM_MAP, *(step.step for step in LEFT_OUT)}
    assert all(found[name].found for name in left), "each says why"
    planned = harness.board.describe().configuration_bytes_per_s
    assert found["load time"].measured["bytes_per_s"] == pytest.approx(planned, rel=0.05)
    assert found["swaps"].measured["swaps"] == 6


@pytest.mark.parametrize("fault", [faults.FAILED_LOAD, faults.WRONG_IDENTITY, faults.DEAD_IMAGE])
def test_a_load_that_fails_is_found(harness: Harness, tmp_path: Path, fault: faults.LoadFault) -> None:
    harness.misload(1, fault)
    found = outcomes(harness, tmp_path)
    assert found["load time"].outcome is StepOutcome.FAIL
    assert "slot 1" in found["load time"].found


def test_a_cache_that_is_not_dropped_is_found(harness: Harness, tmp_path: Path) -> None:
    memory = cast(Any, harness.board)._arena._memory
    memory.invalidate = lambda start, end: None
    found = outcomes(harness, tmp_path)
    assert found["coherency"].outcome is StepOutcome.FAIL
    assert "values wrong" in found["coherency"].found


def test_memory_that_forgets_is_found(harness: Harness, tmp_path: Path) -> None:
    board = cast(Any, harness.board)
    write = board._arena.write
    board._arena.write = lambda buffer, offset, data: write(buffer, offset, data[:-4])
    assert outcomes(harness, tmp_path)["memory"].outcome is StepOutcome.FAIL


def test_heat_and_power_are_read_where_the_kernel_shows_them(harness: Harness, tmp_path: Path) -> None:
    for path, text in (("thermal/thermal_zone0/temp", "91500"), ("hwmon/hwmon1/power1_input", "4250000")):
        (tmp_path / path).parent.mkdir(parents=True)
        (tmp_path / path).write_text(text + "\n")
    found = outcomes(harness, tmp_path, swaps=0)
    assert (found["temperature"].outcome, found["temperature"].measured) == (StepOutcome.FAIL, {"hottest_c": 91.5})
    assert (found["power"].outcome, found["power"].measured) == (StepOutcome.PASS, {"watts": 4.25})
    assert found["swaps"].outcome is StepOutcome.NOT_RUN


def test_a_clock_that_is_not_the_profiles_is_found(harness: Harness, tmp_path: Path) -> None:
    board, wall = harness.board, [0.0]

    def sleep(seconds: float) -> None:
        wall[0] += seconds
        board.wait(board.now_s() + seconds * 0.9)

    steps = run(cast(BoardPort, Few(board)), 0, SelfTestEnvironment(lambda: wall[0], sleep, tmp_path))
    found = next(step for step in steps if step.step == "time")
    assert found.outcome is StepOutcome.FAIL
    assert found.measured["shell_hz"] == pytest.approx(90e6, rel=1e-3)


def test_a_signed_report_counts_as_it_is_and_no_other(harness: Harness, tmp_path: Path) -> None:
    board = harness.board
    loads = StepReport("load time", StepOutcome.PASS, "well", {"loads": 12.0, "bytes_per_s": 397.6e6})
    document = report(board, (StepReport("shell", StepOutcome.PASS, "well", {"slots": 2.0}), loads), 1.8e9)
    failed = dataclasses.replace(LEFT_OUT[0], outcome=StepOutcome.FAIL)
    assert document["passed"]
    assert not report(board, (failed,), 1.8e9)["passed"]
    keys = tmp_path / "keys"
    keys.mkdir()
    generate(keys / "day.key")
    document["signature"] = load_key(keys / "day.key").sign(canonical(document)).hex()
    file = tmp_path / "report.json"

    def verified(changed: dict[str, Any], *options: str) -> subprocess.CompletedProcess[str]:
        file.write_text(json.dumps(changed))
        command = [sys.executable, "-m", "eddy", "board-test", f"--verify={file}", f"--trusted-keys={keys}"]
        return subprocess.run([*command, *options], capture_output=True, text=True, timeout=180)

    kept = verified(document, f"--keep={tmp_path / 'measured'}")
    assert kept.returncode == 0, kept.stderr
    found = load_profile("tiny", tmp_path / "measured").configuration
    assert found.bytes_per_s == pytest.approx(397_600_000)
    assert found.source == "eddy board-test, 2027-01-15: 12 loads"
    tampered = verified({**document, "at_unix_s": 1.9e9})
    assert tampered.returncode != 0
    assert "no trusted key signed" in tampered.stderr
    unsigned = verified({key: value for key, value in document.items() if key != "signature"})
    assert "no signed report" in unsigned.stderr


@pytest.mark.parametrize(
    ("fails_hz", "step_hz", "wanted_hz"),
    [(1e9, 1.0, 200e6), (133.4e6, 1.0, 133e6), (133.4e6, 3e6, 132e6), (104e6, 1.0, 103e6), (100.5e6, 1.0, 100e6)],
)
def test_the_highest_clock_is_found_to_a_hundredth(fails_hz: float, step_hz: float, wanted_hz: float) -> None:
    def attempt(hz: float) -> tuple[float, bool]:
        made_hz = (hz + 1e-3) // step_hz * step_hz
        return made_hz, made_hz < fails_hz

    found = find_highest_correct_clock(attempt, 100e6 // step_hz * step_hz, 200e6)
    assert found == pytest.approx(wanted_hz, abs=1.1e6)
    assert found is not None
    assert found < fails_hz
    assert find_highest_correct_clock(lambda hz: (hz, False), 100e6, 200e6) is None


def past(harness: Harness, *modules: str) -> Iterator[StepReport]:
    board = Few(harness.board, modules)
    with cast(Any, harness.board).past_checks() as ways:
        yield damaged_image(cast(BoardPort, board), ways)
        yield highest_clocks(cast(BoardPort, board), ways)


def sim_of(harness: Harness) -> SimBoard:
    return cast(SimBoard, cast(Any, harness.board)._fabric._overlay.device.sim)


def test_past_its_checks_a_damaged_image_is_found_and_the_highest_clock_measured(harness: Harness) -> None:
    sim = sim_of(harness)
    sim.faults.limit_clock(0, 130e6)
    damaged, clocks = past(harness, ITEM_MODULE)
    assert (damaged.outcome, damaged.measured) == (StepOutcome.PASS, {"prerror": 1.0}), damaged.found
    assert clocks.outcome is StepOutcome.PASS, clocks.found
    # The wizard divides 1 GHz in eighths: 129.03 MHz is the last it makes below the bound.
    assert clocks.measured[f"{ITEM_MODULE}_slot0_hz"] == pytest.approx(1e9 / 7.75)
    assert clocks.measured[f"{ITEM_MODULE}_slot1_hz"] == pytest.approx(1e9 / 6.75), "nothing fails in slot 1"
    held = [slot.held for slot in cast(Any, harness.board)._slots]
    rates = [slot.clock.rate_hz() for slot in cast(Any, harness.board)._fabric.slots]
    assert all(rate <= image.clk_hz * (1 + 1e-6) for rate, image in zip(rates, held, strict=True)), "the clock is back"
    assert [slot.phase for slot in harness.board.state().slots] == [SlotPhase.IDLE] * 2


def test_a_module_that_is_wrong_at_its_own_clock_fails(harness: Harness) -> None:
    sim_of(harness).faults.limit_clock(1, 50e6)
    _, clocks = past(harness, ITEM_MODULE)
    assert clocks.outcome is StepOutcome.FAIL
    assert "in slot 1 at the 75" in clocks.found
    assert "bytes of out are wrong" in clocks.found


def test_a_damaged_image_that_comes_up_fails(harness: Harness, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bitfile, "crc_ok", lambda body: True)
    damaged = next(past(harness, ITEM_MODULE))
    assert damaged.outcome is StepOutcome.FAIL
    assert "came up as if it were sound" in damaged.found


def test_known_answers_are_those_of_the_rtl(harness: Harness) -> None:
    found, first = dict[str, list[str]](), known_answers()[ITEM_MODULE][0]
    accelerators = [module for module, trials in known_answers().items() if isinstance(trials[0], KnownAnswer)]
    images = {image.module: image for image in harness.board.images() if image.slot == 0}
    for image in [images[module] for module in accelerators if module != ITEM_MODULE] + [images[ITEM_MODULE]]:
        assert load_failure(load(harness.board, image)[0], image) == ""
        found[image.module] = [find_mismatch(harness.board, 0, trial) for trial in known_answers()[image.module]]
    assert found == {module: ["", ""] for module in accelerators}
    assert isinstance(first, KnownAnswer)
    name, data = next(iter(first.outputs.items()))
    other = dataclasses.replace(first, outputs={name: data[:-1] + bytes([data[-1] ^ 1])})
    assert find_mismatch(harness.board, image.slot, other) == f"1 of {format_bytes(len(data))} of {name} are wrong"
    assert harness.board.state().buffers == ()


def test_the_command_goes_past_checks_only_where_told_and_in_its_own_process(harness: Harness, tmp_path: Path) -> None:
    assert harness.folder is not None
    for path in harness.folder.glob("*__slot*"):
        if not path.name.startswith(f"{ITEM_MODULE}__slot0"):
            path.unlink()
    out = tmp_path / "report.json"
    command = [sys.executable, "-m", "eddy", "board-test", "--board=rtl", "--profile=tiny", "--past-checks"]
    refused = subprocess.run([*command, "--boardd=/nowhere"], capture_output=True, text=True, timeout=180)
    assert "boardd lets nobody past its checks" in refused.stderr
    options = (f"--images={harness.folder}", "--swaps=0", f"--out={out}", f"--keep={tmp_path / 'measured'}")
    done = subprocess.run([*command, *options], capture_output=True, text=True, timeout=180)
    steps = {step["step"]: step for step in json.loads(out.read_text())["steps"]}
    assert steps["images"]["outcome"] == "FAIL", "slot 1 has none, and that is said"
    assert done.returncode != 0
    assert "is not kept" in done.stderr, "and the report is there all the same"
    assert (steps[DAMAGED]["outcome"], steps[DAMAGED]["measured"]) == ("PASS", {"prerror": 1.0})
    assert (steps[CLOCKS]["outcome"], [*steps[CLOCKS]["measured"]]) == ("PASS", [f"{ITEM_MODULE}_slot0_hz"])


@contextlib.contextmanager
def memory_of(**dram: Any) -> Iterator[BoardPort]:
    """A board whose memory is another than its profile says."""
    profile = load_profile("tiny")
    other = dataclasses.replace(profile, dram=dataclasses.replace(profile.dram, **dram))
    files = bitstreams.list_or_build(profile)
    device = SimDevice(other, coherent=False)
    board = open_device(files.overlay, device, SimClock(device), other, files.overlay.parent, Trust(False))
    try:
        yield board
    finally:
        board.release()


@pytest.mark.parametrize(
    "dram",
    [{}, {"hashing": True}, {"hashing": True, "banks": 4, "channels": 2}, {"row_bytes": 4096, "banks": 32}],
    ids=["as planned", "hashed", "two channels", "other rows"],
)
def test_the_address_map_of_memory_is_found(dram: dict[str, Any]) -> None:
    planned = load_profile("tiny").dram
    actual = dataclasses.replace(planned, **dram)
    with memory_of(**dram) as board:
        found = dram_map(board, planned, SIMULATED)
        assert board.state().buffers == ()
    assert found.outcome is StepOutcome.PASS, found.found
    assert found.measured["units"] == actual.banks * actual.channels
    assert (found.measured["row_bytes"], found.measured["explained"]) == (actual.row_bytes, 1.0)
    assert found.measured["as_planned"] == float(not dram)
    masks = {int(value) for name, value in found.measured.items() if name.startswith("unit_bit_")}
    assert masks == {*profile_map(actual, (1 << 23) - (1 << 6)).unit_masks}
    assert ("as the profile says" in found.found) == (not dram)


def test_memory_that_shows_no_rows_gives_no_map() -> None:
    with memory_of(rcd_ns=0.0, rp_ns=0.0, ras_ns=0.0) as board:
        found = dram_map(board, load_profile("tiny").dram, SIMULATED)
    assert (found.outcome, found.measured) == (StepOutcome.NOT_RUN, {})
    assert "no pair is slower" in found.found


def test_pairs_that_follow_no_map_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    from eddy.board.selftest import board_test_dram

    chance = random.Random(4)
    monkeypatch.setattr(board_test_dram._Pairs, "slow", lambda self, difference: chance.random() < 0.3)
    with memory_of() as board:
        assert dram_map(board, load_profile("tiny").dram, SIMULATED).outcome is StepOutcome.FAIL
        assert PROBE in {image.module for image in board.images()}
