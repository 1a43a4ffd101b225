# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""`eddy doctor` on a board, in a folder that stands for its file system: each finding, well and not."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from eddy.board.port.profile import load_profile
from eddy.board.pynq.fabric_record import Record, sha256_of
from eddy.board.pynq.real_board import INSTALL_PYNQ
from eddy.cli.boards.doctor_board import board

PROFILE = load_profile("tiny")
FILES = {
    "sys/class/fpga_manager/fpga0/state": "operating\n",
    "proc/device-tree/chosen/pynq_board": "KV260\0",
    "proc/sys/kernel/random/boot_id": "boot-1\n",
    "proc/meminfo": "MemTotal:  4000000 kB\nCmaTotal:  524288 kB\n",
    "sys/class/uio/uio0/name": "fabric\n",
    "sys/kernel/debug/clk/pl0_ref/clk_rate": "99999001\n",
    "sys/class/thermal/thermal_zone0/temp": "51250\n",
    "lib/firmware/eddy/tiny/eddy.bit": "bits",
}


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A board on which all is well."""
    for name, text in FILES.items():
        write(tmp_path, name, text)
    sha256 = sha256_of(tmp_path / "lib/firmware/eddy/tiny/eddy.bit")
    write(tmp_path, "run/eddy/fabric.json", json.dumps(vars(Record("boot-1", sha256, configured=True))))
    monkeypatch.setattr("importlib.util.find_spec", lambda name: object())
    return tmp_path


def write(root: Path, name: str, text: str) -> None:
    (root / name).parent.mkdir(parents=True, exist_ok=True)
    (root / name).write_text(text)


def wrong(root: Path) -> dict[str, str]:
    """What is not well, and what was found; each says what helps."""
    found = [each for each in board(PROFILE, root) if not each[1]]
    assert all(helps for _, _, _, helps in found)
    return {check: said for check, _, said, _ in found}


def test_a_board_on_which_all_is_well(root: Path) -> None:
    assert wrong(root) == {}
    checks = [check for check, *_ in board(PROFILE, root)]
    assert checks == [
        *(
            "design",
            "other loaders",
            "device tree",
            "xrt",
            "pynq",
            "interrupt",
            "memory (CMA)",
            "shell clock",
            "temperature",
        ),
    ]


def test_a_machine_that_is_no_board_is_told_nothing(tmp_path: Path) -> None:
    assert list(board(PROFILE, tmp_path)) == []


@pytest.mark.parametrize(
    ("check", "name", "text"),
    [
        ("design", "proc/sys/kernel/random/boot_id", "boot-2\n"),
        ("design", "run/eddy/fabric.json", "{"),
        ("interrupt", "sys/class/uio/uio0/name", "axi-pmon\n"),
        ("memory (CMA)", "proc/meminfo", "CmaTotal:  4096 kB\n"),
        ("memory (CMA)", "proc/meminfo", "MemTotal:  4096 kB\n"),
        ("shell clock", "sys/kernel/debug/clk/pl0_ref/clk_rate", "50000000\n"),
        ("temperature", "sys/class/thermal/thermal_zone0/temp", "91000\n"),
    ],
)
def test_what_is_wrong_is_found_alone(root: Path, check: str, name: str, text: str) -> None:
    write(root, name, text)
    assert list(wrong(root)) == [check]


@pytest.mark.parametrize(
    ("check", "name"),
    [("device tree", "proc/device-tree/chosen/pynq_board"), ("design", "lib/firmware/eddy/tiny/eddy.bit")],
)
def test_what_is_missing_is_found(root: Path, check: str, name: str) -> None:
    (root / name).unlink()
    assert list(wrong(root)) == [check]


def test_a_release_of_pynq_that_is_not_tested_and_no_xrt(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def version(name: str) -> str:
        return "3.0.1"

    def nothing(name: str) -> None:
        return None

    monkeypatch.setattr("importlib.metadata.version", version)
    monkeypatch.setattr("importlib.util.find_spec", nothing)
    assert list(wrong(root)) == ["xrt", "pynq"]


def test_pynq_is_installed_by_the_command_of_the_page() -> None:
    page = (Path(__file__).parents[4] / "docs/how-to/bring-up.md").read_text(encoding="utf-8")
    assert INSTALL_PYNQ in page.replace("/opt/eddy/1/bin/pip", "pip")


def test_other_loaders_and_the_designs_they_loaded(root: Path) -> None:
    overlay = "sys/kernel/config/device-tree/overlays/k26-starter-kits_image_0/dtbo"
    write(root, overlay, "firmware-name k26_starter_kits.bit.bin")
    assert wrong(root) == {"other loaders": "device-tree overlays of other designs: k26-starter-kits_image_0"}
    for process in ("fpgad", "dfx-mgrd"):
        write(root, "proc/512/comm", f"{process}\n")
        assert wrong(root) == {"other loaders": f"{process} runs"}
