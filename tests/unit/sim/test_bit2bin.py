# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""`.bit.bin` files are what stock PYNQ makes of the same `.bit`."""

from __future__ import annotations

import random
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from eddy.board.images.image_files import refuse_boot_image
from eddy.board.pynq.fpga_manager import to_binary
from eddy.core.errors import ImageRefused
from eddy_sim.design.bitfile import header
from pynq.pl_server.embedded_device import bit2bin

TOOLS = Path(__file__).resolve().parents[3] / "tools"


@pytest.mark.parametrize("words", [1, 7, 5000])
@pytest.mark.parametrize("design", ["dct;PARTIAL=TRUE;UserID=0XFFFFFFFF;Version=2023.2", "kv260;Version=2023.2"])
def test_the_conversion_is_that_of_pynq(words: int, design: str) -> None:
    bit = header(design, "xck26-sfvc784-2LV-c", 4 * words) + random.Random(words).randbytes(4 * words)
    assert to_binary(bit) == bit2bin(bit)


needs_bootgen = pytest.mark.skipif(
    not shutil.which("bootgen"), reason="needs bootgen (Debian: apt install xilinx-bootgen)"
)


def run_bootgen(folder: Path, bif: str, *options: str) -> None:
    (folder / "a.bif").write_text(f"all:\n{{\n{bif}\n}}\n")
    command = ["bootgen", "-image", "a.bif", "-arch", "zynqmp", "-w", *options]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=180)
    assert done.returncode == 0, done.stdout + done.stderr


def partial(words: int = 5000) -> bytes:
    """A `.bit` with what every bitstream begins with, which bootgen looks for."""
    body = bytes.fromhex("ffffffff000000bb11220044ffffffffaa995566") + random.Random(words).randbytes(4 * words - 20)
    return header("dct;PARTIAL=TRUE;UserID=0XFFFFFFFF;Version=2023.2", "xck26-sfvc784-2LV-c", len(body)) + body


@needs_bootgen
def test_the_conversion_is_that_of_bootgen(tmp_path: Path) -> None:
    (tmp_path / "a.bit").write_bytes(partial())
    run_bootgen(tmp_path, "[destination_device = pl] a.bit", "-process_bitstream", "bin")
    assert (tmp_path / "a.bit.bin").read_bytes() == to_binary(partial())


@needs_bootgen
@pytest.mark.parametrize("secured", [False, True])
def test_what_bootgen_packs_for_the_firmware_to_check_is_refused(tmp_path: Path, secured: bool) -> None:
    (tmp_path / "a.bit").write_bytes(partial())
    bif = "[destination_device = pl] a.bit"
    if secured:
        for name in ("psk", "ssk"):
            key = rsa.generate_private_key(65537, 4096)
            form, plain = serialization.PrivateFormat.TraditionalOpenSSL, serialization.NoEncryption()
            (tmp_path / f"{name}.pem").write_bytes(key.private_bytes(serialization.Encoding.PEM, form, plain))
        bif = "[pskfile] psk.pem\n[sskfile] ssk.pem\n[authentication = rsa, destination_device = pl] a.bit"
    run_bootgen(tmp_path, bif, "-o", "out.bin")
    with pytest.raises(ImageRefused) as refused:
        refuse_boot_image((tmp_path / "out.bin").read_bytes(), "out.bin")
    assert refused.value.details["reason"] == "secure"


def test_the_command_writes_beside_the_file(tmp_path: Path) -> None:
    bit = header("d;Version=2023.2", "xck26-sfvc784-2LV-c", 8) + bytes(range(8))
    (tmp_path / "a.bit").write_bytes(bit)
    subprocess.run([sys.executable, str(TOOLS / "bit2bin.py"), str(tmp_path / "a.bit")], check=True, timeout=180)
    assert (tmp_path / "a.bit.bin").read_bytes() == bit2bin(bit)


def test_the_command_refuses_what_is_no_bit_file(tmp_path: Path) -> None:
    (tmp_path / "a.bit").write_bytes(header("d;Version=2023.2", "xck26-sfvc784-2LV-c", 8) + bytes(5))
    command = [sys.executable, str(TOOLS / "bit2bin.py"), str(tmp_path / "a.bit")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=180)
    assert done.returncode == 1
    assert "cut short: 8 bytes promised, 5 bytes there" in done.stderr
    assert not (tmp_path / "a.bit.bin").exists()
