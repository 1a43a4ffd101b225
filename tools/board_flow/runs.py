# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What a board's build runs: the modules, what each is made of, and which slots each is built for."""

from __future__ import annotations

import hashlib

from eddy.board.port.profile import Profile
from eddy.packages.modules import ModuleManifest
from eddy_sim.design.bitstreams import fits, modules
from eddy_sim.tools.filelist import read_filelist

from board_flow.constraints import HEAD, slot_cell
from board_flow.floorplan import ROOT, Board


def runs_tcl(board: Board, profile: Profile) -> str:
    """The list that the flow's Tcl goes by."""
    found = modules()
    lines = [f"set board {board.name}", f"set part {board.part}", f"set shell_mhz {profile.shell_hz / 1e6:.6f}"]
    lines.append(f"set static_list hw/top/{board.name}/{board.name}.f")
    lines += [f"module {module.module} {module.top} {_list(module)} {{{_parameters(module)}}}" for module in found]
    for slot, description in zip(board.slots, profile.slots, strict=True):
        names = " ".join(module.module for module in found if fits(module, description))
        lines.append(f"slot {slot.index} {{{slot_cell(slot.index)}}} {slot.clk_hz / 1e6:.6f} {{{names}}}")
    return HEAD + "\n".join(lines) + "\n"


def _list(module: ModuleManifest) -> str:
    return module.files.resolve().relative_to(ROOT).as_posix()


def _parameters(module: ModuleManifest) -> str:
    return " ".join(f"{name}={value}" for name, value in sorted(module.parameters))


def static_hash(board: Board) -> str:
    """Identity of a board's static part, 16 hex digits: of its sources, its constraints and the flow that builds it."""
    flow = [*sorted((ROOT / "hw/vivado/tcl").glob("*.tcl")), *sorted((ROOT / "hw/vivado" / board.name).glob("*.xdc"))]
    digest = hashlib.sha256(board.part.encode())
    for path in [*read_filelist(ROOT / f"hw/top/{board.name}/{board.name}.f"), *flow]:
        digest.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()[:16]
