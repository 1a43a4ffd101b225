# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The hardware handoff files, read by both of PYNQ's parsers."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import pytest
from eddy.board.port.port import Access
from eddy.packages.modules import ArgumentRegister, RegisterKind
from eddy_sim.design.addressmap import INTC_NAME, Ip, argument_map, module_base, slot_ip, static_ips
from eddy_sim.design.hwh import clock_divisor, overlay_hwh, partial_hwh
from pynq.pl_server.hwh_parser import _HWHUltrascale
from pynqmetadata.frontends import Metadata  # type: ignore[import-untyped]
from pynqmetadata.views.runtime import RuntimeMetadataParser  # type: ignore[import-untyped]

ARGUMENTS = (
    ArgumentRegister("in", 0x10, 64, RegisterKind.POINTER, Access.READ),
    ArgumentRegister("blocks", 0x1C, 32, RegisterKind.SCALAR),
    ArgumentRegister("status", 0x24, 32, RegisterKind.STATUS),
)


def parse(tmp_path: Path, slots: int, shell_hz: float = 100e6, engine: bool = False) -> Any:
    file = tmp_path / "eddy.hwh"
    file.write_text(overlay_hwh("eddy", "xck26-sfvc784-2LV-c", shell_hz, static_ips(slots, shell_hz, engine)))
    return RuntimeMetadataParser(Metadata(input=str(file)))


@pytest.mark.parametrize("slots", [1, 2, 10])
def test_every_block_is_there_once(tmp_path: Path, slots: int) -> None:
    parsed = parse(tmp_path, slots)
    for slot in range(slots):
        assert parsed.ip_dict[f"slot_ctrl{slot}"]["phys_addr"] == 0xA004_0000 + slot * 0x1_0000
        assert parsed.ip_dict[f"slot_clk{slot}"]["phys_addr"] == 0xA002_0000 + slot * 0x1000
        assert parsed.ip_dict[f"slot{slot}/module"]["phys_addr"] == 0xA010_0000 + slot * 0x1_0000
    assert set(parsed.hierarchy_dict) == {f"slot{slot}" for slot in range(slots)}
    ranges = sorted((ip["phys_addr"], ip["addr_range"]) for ip in parsed.ip_dict.values() if "phys_addr" in ip)
    assert all(a + size <= b for (a, size), (b, _) in itertools.pairwise(ranges))
    assert parsed.ip_dict["slot_clk0"]["parameters"]["PRIM_IN_FREQ"] == "100.000000"
    assert parsed.ip_dict["shell"]["registers"]["CFG_STATUS"]["address_offset"] == 0x18


@pytest.mark.parametrize("engine", [False, True])
def test_an_engine_is_there_where_the_shell_has_one(tmp_path: Path, engine: bool) -> None:
    parsed = parse(tmp_path, 10, engine=engine)
    assert ("icap_engine" in parsed.ip_dict) == engine
    if engine:
        assert parsed.ip_dict["icap_engine"]["phys_addr"] == 0xA00E_0000
        assert parsed.ip_dict["icap_engine"]["type"] == "eddy:ip:icap_engine:1.0"
        assert parsed.ip_dict["icap_engine"]["registers"]["WINDOW_LAST"]["address_offset"] == 0x30


@pytest.mark.parametrize("slots", [1, 4, 10])
def test_interrupts_lead_to_the_inputs_they_are_wired_to(tmp_path: Path, slots: int) -> None:
    parsed = parse(tmp_path, slots)
    assert parsed.interrupt_controllers == {INTC_NAME: {"parent": "", "index": 0, "raw_irq": 121}}
    for slot in range(slots):
        assert parsed.interrupt_pins[f"slot{slot}/module/interrupt"]["index"] == slot
        assert parsed.interrupt_pins[f"slot_ctrl{slot}/fault"]["index"] == 16 + slot
        assert parsed.ip_dict[f"slot{slot}/module"]["interrupts"]["interrupt"]["controller"] == INTC_NAME
    assert parsed.interrupt_pins["shell/config_irq"]["index"] == 31
    for name, pin in parsed.interrupt_pins.items():
        if name.startswith("xlconcat_0/In"):
            assert pin["index"] == int(name.removeprefix("xlconcat_0/In"))


def test_the_older_parser_agrees(tmp_path: Path) -> None:
    new = parse(tmp_path, 4)
    old = _HWHUltrascale(hwh_name=str(tmp_path / "eddy.hwh"))
    for name, ip in new.ip_dict.items():
        if "phys_addr" in ip:
            assert (ip["phys_addr"], ip["addr_range"], ip["type"]) == (
                old.ip_dict[name]["phys_addr"],
                old.ip_dict[name]["addr_range"],
                old.ip_dict[name]["type"],
            )
            assert ip["registers"].keys() == old.ip_dict[name]["registers"].keys()
    assert old.interrupt_pins["slot_ctrl2/fault"]["index"] == 18


@pytest.mark.parametrize(("hz", "mhz"), [(100e6, 99.999), (99_990_005, 99.999), (200e6, 187.498)])
def test_clocks(tmp_path: Path, hz: float, mhz: float) -> None:
    clocks = parse(tmp_path, 1, hz).clock_dict
    assert clocks[0]["enable"] == 1
    assert clocks[0]["frequency"] == pytest.approx(mhz, abs=0.001)
    assert clocks[0]["divisor0"] == clock_divisor(hz)
    assert [clocks[index]["enable"] for index in (1, 2, 3)] == [0, 0, 0]


def test_a_partial_design_shows_the_modules_registers() -> None:
    full = slot_ip(1, "dct", "eddy:hls:dct:1.0", argument_map(ARGUMENTS))
    ip = Ip("dct", full.vlnv, full.base, full.bytes, full.registers, full.interrupts)
    parsed = _HWHUltrascale(hwh_data=partial_hwh("dct", "xck26-sfvc784-2LV-c", ip))
    assert list(parsed.ip_dict) == ["dct"]
    assert parsed.ip_dict["dct"]["phys_addr"] == module_base(1)
    assert parsed.ip_dict["dct"]["type"] == "eddy:hls:dct:1.0"
    registers = parsed.ip_dict["dct"]["registers"]
    assert registers["CTRL"]["fields"]["AP_IDLE"]["bit_offset"] == 2
    assert (registers["in"]["size"], registers["in"]["address_offset"]) == (64, 0x10)
    assert registers["in_2"]["address_offset"] == 0x14
    assert registers["blocks"]["size"] == 32
    assert registers["status"]["access"] == "read-only"
    assert registers["EDDY_MAGIC"]["address_offset"] == 0xF000
    assert "dct/interrupt" in parsed.pins
