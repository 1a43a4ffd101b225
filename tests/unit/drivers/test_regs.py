# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The register maps: generated files are current, and say what the sources say."""

from __future__ import annotations

import importlib
import subprocess
import sys
from pathlib import Path

import pytest
from eddy_drivers.regs.base import Field, Register

ROOT = Path(__file__).resolve().parents[3]
MAPS = tuple(sorted(path.stem for path in (ROOT / "hw/regs").glob("*.rdl")))


def test_committed_files_are_current() -> None:
    result = subprocess.run([sys.executable, str(ROOT / "tools/regs.py"), "--check"], capture_output=True, text=True)
    assert result.returncode == 0, result.stdout + result.stderr


def test_a_stale_file_is_found(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "tools"))
    regs = importlib.import_module("regs")
    (tmp_path / "hw/regs").mkdir(parents=True)
    for name in MAPS:
        (tmp_path / f"hw/regs/{name}.rdl").write_text((ROOT / f"hw/regs/{name}.rdl").read_text())
    (tmp_path / "hw/regs/top").mkdir()
    (tmp_path / regs.WINDOW).write_text((ROOT / regs.WINDOW).read_text())
    for path, text in regs.all_outputs(tmp_path).items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    assert regs.stale(tmp_path) == []
    source = tmp_path / "hw/regs/shell.rdl"
    source.write_text(source.read_text().replace("minor[7:0] = 1", "minor[7:0] = 2"))
    (tmp_path / "hw/regs/generated/gone_regs_pkg.sv").write_text("")
    found = regs.stale(tmp_path)
    assert "stale: hw/regs/generated/shell_regs.sv" in found
    assert "stale: drivers/eddy_drivers/regs/shell.py" in found
    assert "left over: hw/regs/generated/gone_regs_pkg.sv" in found


def test_a_map_the_writers_cannot_express_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "tools"))
    model = importlib.import_module("regmap.model")
    source = tmp_path / "odd.rdl"
    source.write_text("addrmap odd { reg { field { sw = rw; hw = rw; we; } f[7:0] = 0; } R @ 0x0; };")
    with pytest.raises(model.RegisterMapError, match=r"odd\.R\.f"):
        model.read_map(source)


@pytest.mark.parametrize("name", MAPS)
def test_fields_of_a_register_do_not_overlap(name: str) -> None:
    registers: tuple[Register, ...] = importlib.import_module(f"eddy_drivers.regs.{name}").REGISTERS
    assert len({register.offset for register in registers}) == len(registers)
    for register in registers:
        assert sum(field.mask for field in register.fields) < 1 << 32
        used = 0
        for field in register.fields:
            assert not used & field.mask
            used |= field.mask


def test_cause_codes_are_the_firewalls() -> None:
    from eddy_drivers.regs.slot_ctrl import Cause

    text = (ROOT / "hw/ip/firewall/rtl/firewall_pkg.sv").read_text()
    for cause in Cause:
        name = "Cause" + "".join(part.capitalize() for part in cause.name.split("_"))
        assert any(line.split() == [name, "=", f"4'd{int(cause)}"] for line in text.replace(",", "").splitlines()), name


def test_causes_have_the_names_of_the_board_port() -> None:
    from eddy.board.port.port import Cause as PortCause
    from eddy_drivers.regs.slot_ctrl import Cause

    assert {cause.name for cause in Cause} <= {cause.name for cause in PortCause}


def test_registers_encode_and_decode() -> None:
    register = Register("R", 0x10, 0, (Field("low", 0, 4), Field("high", 8, 16)), count=3, stride=8)
    word = register.encode(low=5, high=0x1234)
    assert word == 0x123405
    assert register.decode(word) == {"low": 5, "high": 0x1234}
    assert register.at(2) == 0x20
    with pytest.raises(IndexError):
        register.at(3)
    with pytest.raises(ValueError, match="low holds 0 to 15"):
        register.encode(low=16)
    with pytest.raises(KeyError):
        register.encode(other=1)
