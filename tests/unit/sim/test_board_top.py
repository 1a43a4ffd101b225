# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The boards' fabric: Yosys elaborates it whole, and models of primitives have the vendor's ports."""

from __future__ import annotations

import json
import re
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from eddy.board.port.profile import load_profile
from eddy_sim.tools.filelist import expand_includes, read_filelist, source_files
from eddy_sim.tools.prove import stage_files
from eddy_sim.tools.yosys import run_script

ROOT = Path(__file__).resolve().parents[3]
MODELS = read_filelist(ROOT / "hw/top/models/models.f")
BOARDS = ("kv260", "zcu104")
PRIMITIVES = ("PS8", "BUFG_PS", "ICAPE3")
BOXES = (*PRIMITIVES, "slot", "slot_clock", "port_clock")
PORT = re.compile(r"^\s*(input|output)\s+(?:wire\s+)?(\[\d+:\d+\])?\s*(\w+)[;,]?$", re.MULTILINE)


def ports(text: str, module: str) -> dict[str, tuple[str, str]]:
    """Direction and range of a module's ports, by name."""
    found = re.search(rf"^module {module} ?\(.*?^endmodule", text, flags=re.DOTALL | re.MULTILINE)
    assert found is not None, module
    return {name: (way, width) for way, width, name in PORT.findall(found.group())}


@cache
def library() -> str:
    spec = find_spec("pyosys")
    assert spec is not None
    assert spec.origin is not None
    return (Path(spec.origin).parent / "share/xilinx/cells_xtra.v").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", PRIMITIVES)
def test_models_of_primitives_have_the_ports_that_the_primitives_have(name: str) -> None:
    (model,) = (path for path in MODELS if path.stem == name)
    ours, theirs = ports(expand_includes(model.read_text(encoding="utf-8"), MODELS), name), ports(library(), name)
    assert ours
    assert {port: theirs.get(port) for port in ours} == ours


@pytest.mark.parametrize("name", ["BUFG_PS", "ICAPE3", "port_clock"])  # the others include one list of ports
def test_what_is_simulated_in_their_place_has_the_same_ports(name: str) -> None:
    (model,) = (path for path in MODELS if path.stem == name)
    text = (ROOT / f"sim/rtl/zynqmp/models/{name}.sv").read_text(encoding="utf-8")
    assert ports(text, name) == ports(model.read_text(encoding="utf-8"), name)


def test_the_boards_differ_in_their_names_alone() -> None:
    """So what the bench of the one shows (sim/rtl/zynqmp) holds for the other."""
    texts = [(ROOT / f"hw/top/{board}/rtl/{board}.sv").read_text(encoding="utf-8") for board in BOARDS]
    assert len({re.sub(r"(?i)" + board, "", text) for board, text in zip(BOARDS, texts, strict=True)}) == 1


def elaborated(board: str, folder: Path) -> dict[str, Any]:
    """The hierarchy of a board's fabric with boxes for primitives, as Yosys counts it."""
    files = [*read_filelist(ROOT / f"hw/top/{board}/{board}.f"), *MODELS]
    stage_files(files, folder)
    for path in (folder / model.name for model in MODELS):
        text = re.sub(r"^  assign .*\n", "", path.read_text(encoding="utf-8"), flags=re.MULTILINE)
        path.write_text(text, encoding="utf-8")  # nothing inside: a box
    names = [path.name for path in source_files(files)]
    keep = " ".join(f"t:{box}" for box in BOXES)
    script = (
        f"read_slang --threads 1 --empty-blackboxes -DSYNTHESIS {' '.join(names)} --top {board}\n"
        f"hierarchy -check -top {board}\nsetattr -set keep 1 {keep}\nproc\nmemory_collect\nflatten\nopt_clean\n"
        "tee -q -o stat.json stat -json\ncheck -assert\n"
    )
    run_script(folder, script)
    counts: dict[str, Any] = json.loads((folder / "stat.json").read_text(encoding="utf-8"))["design"]
    return counts


@pytest.mark.rtl
@pytest.mark.parametrize("board", BOARDS)
def test_the_fabric_elaborates_whole(board: str, tmp_path: Path) -> None:
    """No module is missing, nothing is driven twice or not at all, and there is a box for each slot and its clock."""
    cells = elaborated(board, tmp_path)["num_cells_by_type"]
    slots = len(load_profile(board).slots)
    assert {box: cells[box] for box in BOXES} == {
        "PS8": 1,
        "BUFG_PS": 1,
        "ICAPE3": 1,
        "slot": slots,
        "slot_clock": slots,
        "port_clock": 1,
    }
    assert cells["$dff"] > 1000
    assert not [cell for cell in cells if "latch" in cell or "tribuf" in cell]


@pytest.mark.parametrize("board", BOARDS)
def test_the_top_is_made_for_its_profile(board: str) -> None:
    profile = load_profile(board)
    text = (ROOT / f"hw/top/{board}/rtl/{board}.sv").read_text(encoding="utf-8")
    set_ = {name: int(value) for name, value in re.findall(r"\.(\w+)\((\d+)\)", text)}
    assert set_ == {
        "NumSlots": len(profile.slots),
        "CacheBytes": profile.cache_bytes,
        "Engine": 1,
        "MemRequests": profile.memory_requests,
        "MemBeats": profile.memory_beats,
    }
