# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The shell's address map: one source, and hardware and simulation that follow it."""

from __future__ import annotations

import importlib
import itertools
import re
from pathlib import Path

import pytest
from eddy_drivers.regs import axi_intc, window

ROOT = Path(__file__).resolve().parents[3]
SLOTS = 10


def test_ranges_lie_apart_and_in_the_window() -> None:
    ranges = [window.SHELL, window.INTC, window.WIZARD, window.MEMORY, window.CONTROL, window.MODULE, window.ENGINE]
    taken = sorted((each.at(k), each.at(k) + each.bytes) for each in ranges for k in range(each.count))
    assert all(end <= start for (_, end), (start, _) in itertools.pairwise(taken))
    assert taken[-1][1] <= window.BYTES
    assert window.CONTROL.count == window.MODULE.count == SLOTS <= window.WIZARD.count
    with pytest.raises(IndexError, match="none is number 10"):
        window.MODULE.at(SLOTS)


def test_the_crossbar_decodes_what_the_map_says() -> None:
    """It looks at bits 23 to 16, 64 KiB a bank, and takes the banks' addresses from the generated package."""
    text = (ROOT / "hw/ip/ctrl_xbar/rtl/ctrl_xbar.sv").read_text()
    package = (ROOT / "hw/regs/generated/window_addr_pkg.sv").read_text()
    said = {name: int(value, 16) for name, value in re.findall(r"(\w+) = 32'h([0-9a-f]+);", package)}
    for name in ("Shell", "Intc", "Control", "Module", "Engine"):
        assert f"{name}Page = {name}Offset[23:16]" in text
        assert said[f"{name}Offset"] == getattr(window, name.upper()).offset
    assert not re.findall(r"page\s*[<>=]+\s*8'h", text), "an address is typed in"
    assert window.CONTROL.stride == window.MODULE.stride == 1 << 16


def test_interrupt_inputs_have_one_source() -> None:
    package = (ROOT / "hw/regs/generated/axi_intc_regs_pkg.sv").read_text()
    said = dict(re.findall(r"Input(\w+) = 5'd(\d+)", package))
    assert {name.upper(): int(value) for name, value in said.items()} == {each.name: each for each in axi_intc.Input}
    shell = (ROOT / "hw/top/shell/rtl/shell.sv").read_text()
    assert set(re.findall(r"interrupts\[axi_intc_regs_pkg::Input(\w+)", shell)) == set(said)
    assert not re.findall(r"interrupts\[\s*\d", shell), "an input is typed in"


def test_c_says_what_python_says() -> None:
    text = (ROOT / "hw/regs/generated/eddy_window.h").read_text()
    found = {name: int(value, 16) for name, value in re.findall(r"#define EDDY_WINDOW_(\w+) (0x[0-9a-f]+)u", text)}
    expected = {"BASE": window.BASE, "BYTES": window.BYTES}
    for name in ("SHELL", "INTC", "WIZARD", "MEMORY", "CONTROL", "MODULE", "ENGINE", "STREAMS"):
        each = getattr(window, name)
        expected |= {f"{name}_OFFSET": each.offset, f"{name}_SIZE": each.bytes}
        expected |= {f"{name}_COUNT": each.count, f"{name}_STRIDE": each.stride} if each.count > 1 else {}
    assert found == expected


@pytest.mark.parametrize("page", ["docs/reference/blocks/shell.md", "docs/reference/bitstreams.md"])
def test_pages_name_the_maps_addresses(page: str) -> None:
    text = (ROOT / page).read_text()
    for each in (window.INTC, window.WIZARD, window.CONTROL, window.MODULE):
        digits = f"{each.offset:06X}"
        assert f"0x{digits[:2]}_{digits[2:]}" in text


def test_a_range_beyond_the_window_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "tools"))
    reader, model = importlib.import_module("regmap.window"), importlib.import_module("regmap.model")
    text = (ROOT / "hw/regs/top/window.rdl").read_text()
    (tmp_path / "window.rdl").write_text(text.replace("window_bytes = 0x1000000", "window_bytes = 0x180000"))
    with pytest.raises(model.RegisterMapError, match="MODULE"):
        reader.read_window(tmp_path / "window.rdl")
