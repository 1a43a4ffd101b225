"""`eddy board-test` on the RTL: it passes on a good board, and each fault fails the step that is there for it."""

from __future__ import annotations

import dataclasses
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest
from contract.harness import Harness, opened
from eddy.board.board_test import (
    ITEM_MODULE,
    NEEDS_HARDWARE,
    StepOutcome,
    StepReport,
    Surroundings,
    canonical,
    report,
    run,
)
from eddy.board.port import BoardPort
from eddy.board.profile import load_profile
from eddy.board.signing import generate, load_key
from eddy.core.slots import Image
from eddy_sim import faults

pytestmark = [pytest.mark.rtl, pytest.mark.xdist_group("board-rtl")]
MODULES = (ITEM_MODULE, "quantize")


class Few:
    """A board with images of two modules only: the others would be built first."""

    def __init__(self, board: BoardPort) -> None:
        self._board = board

    def __getattr__(self, name: str) -> Any:
        return getattr(self._board, name)

    def images(self) -> tuple[Image, ...]:
        return tuple(image for image in self._board.images() if image.module in MODULES)


@pytest.fixture
def harness(tmp_path: Path) -> Iterator[Harness]:
    with opened("rtl", tmp_path) as found:
        yield found


def outcomes(harness: Harness, sysfs: Path, swaps: int = 6) -> dict[str, StepReport]:
    board = cast(BoardPort, Few(harness.board))
    return {step.step: step for step in run(board, swaps, Surroundings(lambda: 0.0, None, sysfs))}


def test_a_good_board_passes_what_can_be_run_and_names_the_rest(harness: Harness, tmp_path: Path) -> None:
    found = outcomes(harness, tmp_path)
    passed = {name for name, step in found.items() if step.outcome is StepOutcome.PASS}
    assert passed == {"shell", "images", "memory", "load time", "coherency", "swaps"}
    left = {name for name, step in found.items() if step.outcome is StepOutcome.NOT_RUN}
    assert left == {"time", "temperature", "power", *(step.step for step in NEEDS_HARDWARE)}
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

    steps = run(cast(BoardPort, Few(board)), 0, Surroundings(lambda: wall[0], sleep, tmp_path))
    found = next(step for step in steps if step.step == "time")
    assert found.outcome is StepOutcome.FAIL
    assert found.measured["shell_hz"] == pytest.approx(90e6, rel=1e-3)


def test_a_signed_report_counts_as_it_is_and_no_other(harness: Harness, tmp_path: Path) -> None:
    board = harness.board
    loads = StepReport("load time", StepOutcome.PASS, "well", {"loads": 12.0, "bytes_per_s": 397.6e6})
    document = report(board, (StepReport("shell", StepOutcome.PASS, "well", {"slots": 2.0}), loads), 1.8e9)
    failed = dataclasses.replace(NEEDS_HARDWARE[0], outcome=StepOutcome.FAIL)
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
        return subprocess.run([*command, *options], capture_output=True, text=True, timeout=120)

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
