"""`.bit.bin` files are what stock PYNQ makes of the same `.bit`."""

from __future__ import annotations

import random
import subprocess
import sys
from pathlib import Path

import pytest
from eddy.board.fpga_manager import to_binary
from eddy_sim.bitfile import header
from pynq.pl_server.embedded_device import bit2bin

TOOLS = Path(__file__).resolve().parents[2] / "tools"


@pytest.mark.parametrize("words", [1, 7, 5000])
@pytest.mark.parametrize("design", ["dct;PARTIAL=TRUE;UserID=0XFFFFFFFF;Version=2023.2", "kv260;Version=2023.2"])
def test_the_conversion_is_that_of_pynq(words: int, design: str) -> None:
    bit = header(design, "xck26-sfvc784-2LV-c", 4 * words) + random.Random(words).randbytes(4 * words)
    assert to_binary(bit) == bit2bin(bit)


def test_the_command_writes_beside_the_file(tmp_path: Path) -> None:
    bit = header("d;Version=2023.2", "xck26-sfvc784-2LV-c", 8) + bytes(range(8))
    (tmp_path / "a.bit").write_bytes(bit)
    subprocess.run([sys.executable, str(TOOLS / "bit2bin.py"), str(tmp_path / "a.bit")], check=True, timeout=60)
    assert (tmp_path / "a.bit.bin").read_bytes() == bit2bin(bit)


def test_the_command_refuses_what_is_no_bit_file(tmp_path: Path) -> None:
    (tmp_path / "a.bit").write_bytes(header("d;Version=2023.2", "xck26-sfvc784-2LV-c", 8) + bytes(5))
    command = [sys.executable, str(TOOLS / "bit2bin.py"), str(tmp_path / "a.bit")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 1
    assert "cut short: 8 bytes promised, 5 there" in done.stderr
    assert not (tmp_path / "a.bit.bin").exists()
