# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Runs the bench of a board's whole fabric: the RTL that is built, with behaviour for the vendor's primitives."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from eddy.board.port.profile import load_profile
from eddy_sim.design.bench import ROOT, Bench
from eddy_sim.design.bitstreams import shell_identity
from eddy_sim.design.build import module_build_hash
from eddy_sim.tools.filelist import header_files, read_filelist

HERE = Path(__file__).parent
MODULE = "level_shift"
SHELL = shell_identity(load_profile("kv260_icap"))
BENCH = Bench(
    "kv260",
    ROOT / "hw/top/kv260/kv260.f",
    sources=(
        *header_files(read_filelist(ROOT / "hw/top/models/models.f")),
        *sorted((HERE / "models").glob("*.sv")),
        *read_filelist(ROOT / f"hw/ip/{MODULE}/{MODULE}.f"),
        HERE / "slot_contents.sv",
    ),
    parameters={"BuildHash": f"64'h{SHELL}"},
    defines={"SLOT_MODULE": MODULE, "MODULE_BUILD": f"64'h{module_build_hash(MODULE):016x}"},
    seen={
        "zynqmp": "engine_busy",
        **dict.fromkeys(("PS8", "ICAPE3", "slot_clock", "port_clock", "slot_contents"), "*"),
    },
)


@pytest.mark.rtl
def test_a_boards_whole_fabric(monkeypatch: pytest.MonkeyPatch) -> None:
    # The bench's process takes the path over.
    monkeypatch.setattr(sys, "path", [str(ROOT / "tools"), *sys.path])
    BENCH.run("cocotb_zynqmp", HERE, environment={"EDDY_BENCH_MODULE": MODULE, "EDDY_BENCH_SHELL": SHELL})
