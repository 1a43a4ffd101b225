# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What PYNQ needs around it is checked before it is imported: one thing missing, one cause."""

from __future__ import annotations

from pathlib import Path

import pytest
from eddy.board.pynq import real_board
from eddy.core.errors import BoardNotReady


@pytest.fixture(autouse=True)
def surroundings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A board on which nothing is missing."""
    node = tmp_path / "pynq_board"
    node.write_text("KV260")
    monkeypatch.setattr(real_board, "BOARD_NODE", node)
    monkeypatch.setenv("XILINX_XRT", "/usr")
    monkeypatch.setattr("os.geteuid", lambda: 0)
    monkeypatch.setattr("importlib.metadata.version", lambda name: "4.0.0")
    return node


def cause() -> str | None:
    """What is said to be missing; None where nothing is."""
    try:
        real_board.check_surroundings()
    except BoardNotReady as missing:
        return str(missing.details["cause"])
    return None


def test_nothing_is_missing() -> None:
    assert cause() is None


def test_no_device_tree_node(surroundings: Path) -> None:
    surroundings.unlink()
    assert cause() == "device-tree"


def test_no_xrt(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("XILINX_XRT")
    assert cause() == "xrt"


def test_not_root(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    assert cause() == "privilege"


def test_another_release_of_pynq(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.metadata.version", lambda name: "3.0.1")
    assert cause() == "pynq-version"
