"""Write `known_answers.npz` of `eddy board-test` from the trials of the modules' benches; `--check` only compares.

Inputs and expected outputs come from numpy models, never from the RTL.
"""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from eddy.board.known_answers import FILE, KnownAnswer, known_answers, packed
from eddy.packages.manifests import load_module_manifest

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
        yield KnownAnswer(manifest.registers, {name: int(value) for name, value in trial.scalars.items()}, *held)


def all_answers() -> dict[str, tuple[KnownAnswer, ...]]:
    """The runs of every module that has trials, by module."""
    modules = sorted(path.parent.name for path in (ROOT / "bitstreams").glob("*/manifest.yaml"))
    benches = {module: bench(module) for module in modules}
    return {module: tuple(answers(module, found.make)) for module, found in benches.items() if found is not None}


def main() -> int:
    """Write, or compare."""
    found = all_answers()
    if "--check" in sys.argv[1:]:
        if found == dict(known_answers()):
            return 0
        print("runtime/eddy/board/known_answers.npz is out of date: run tools/known_answers.py", file=sys.stderr)
        return 1
    np.savez_compressed(FILE, **packed(found))
    print(f"{FILE.relative_to(ROOT)}: {len(found)} modules, {FILE.stat().st_size} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
