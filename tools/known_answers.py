# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Write `known_answers.npz` of `eddy board-test` from the trials of the modules' benches; `--check` only compares.

Inputs and expected outputs come from numpy models, never from the RTL; kernels run on the model of the instruction set.
"""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from eddy.board.selftest.known_answers import FILE, KnownAnswer, KnownKernel, known_answers, pack_answers
from eddy.gpu.compilation.compiler import Compiler
from eddy.gpu.launches.executor import Execution
from eddy.gpu.programs.shape import ClusterShape
from eddy.gpu.workloads import run
from eddy.gpu.workloads.basic import reduction, sgemm
from eddy.packages.manifests import load_module_manifest
from eddy.packages.modules import ModuleKind
from eddy_sim.gpu.executors import IsaExecutor

ROOT = Path(__file__).resolve().parents[1]
TRIALS = 2


def bench(module: str) -> Any:
    """The bench of a module, imported from its file; None where it has none with trials."""
    file = ROOT / "sim" / "rtl" / module / f"cocotb_{module}.py"
    if not file.is_file():
        return None
    if str(file.parent) not in sys.path:
        sys.path.append(str(file.parent))
    spec = importlib.util.spec_from_file_location(f"known_{module}", file)
    assert spec is not None
    assert spec.loader is not None
    found = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(found)
    return found if hasattr(found, "make") else None


def answers(module: str, make: Any) -> Iterator[KnownAnswer]:
    """The runs of a module."""
    manifest = load_module_manifest(ROOT / "bitstreams" / module)
    for seed in range(TRIALS):
        trial = make(np.random.default_rng(seed))
        held = [
            {name: np.ascontiguousarray(array).tobytes() for name, array in arrays.items()}
            for arrays in (trial.inputs, trial.outputs)
        ]
        registers = tuple(replace(each, streamed=False) for each in manifest.registers)  # it goes through memory
        yield KnownAnswer(registers, {name: int(value) for name, value in trial.scalars.items()}, *held)


class Recorder:
    """Runs kernels on the model of the instruction set, and keeps what memory held before and after.

    Args:
        shape: Of the cluster that is modelled.
    """

    def __init__(self, shape: ClusterShape) -> None:
        self.shape = shape
        self.runs: list[tuple[bytes, int, int, bytes]] = []
        self._model = IsaExecutor(shape)

    def execute(self, region: bytearray, entry: int, argument: int, limit: int) -> Execution:
        """See `eddy.gpu.launches.executor.Executor`."""
        before = bytes(region)
        execution = self._model.execute(region, entry, argument, limit)
        self.runs.append((before, entry, argument, bytes(region)))
        return execution


def kernels(module: str) -> Iterator[KnownKernel]:
    """Kernels packed for a cluster: floating point, integers, barriers and local memory; references are numpy's."""
    parameters = {
        name.lower(): int(value) for name, value in load_module_manifest(ROOT / "bitstreams" / module).parameters
    }
    shape = ClusterShape(parameters["cores"], parameters["warps"], parameters["threads"], bool(parameters["fpu"]))
    for workload in (sgemm(8, 8, 8), reduction(256)):
        recorder = Recorder(shape)
        run(workload, recorder, Compiler(ROOT / "build" / "kernels"))
        ((before, entry, argument, after),) = recorder.runs
        outputs = {}
        for wanted in (array.tobytes() for array in workload.expected.values()):
            assert after.count(wanted) == 1, "the place of a result must be plain"
            assert wanted not in before
            outputs[after.index(wanted)] = wanted
        yield KnownKernel(before, entry, argument, outputs)


def all_answers() -> dict[str, tuple[KnownAnswer | KnownKernel, ...]]:
    """The runs of every module that has trials, by module."""
    found: dict[str, tuple[KnownAnswer | KnownKernel, ...]] = {}
    for module in sorted(path.parent.name for path in (ROOT / "bitstreams").glob("*/manifest.yaml")):
        if load_module_manifest(ROOT / "bitstreams" / module).kind is ModuleKind.GPU:
            found[module] = tuple(kernels(module))
        elif trials := bench(module):
            found[module] = tuple(answers(module, trials.make))
    return found


def main() -> int:
    """Write, or compare."""
    found = all_answers()
    if "--check" in sys.argv[1:]:
        if found == dict(known_answers()):
            return 0
        print(
            "runtime/eddy/board/selftest/known_answers.npz is out of date: run tools/known_answers.py", file=sys.stderr
        )
        return 1
    np.savez_compressed(FILE, **pack_answers(found))
    print(f"{FILE.relative_to(ROOT)}: {len(found)} modules, {FILE.stat().st_size} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
