"""The runs that `eddy board-test` knows the results of: as the numpy models compute them now, for every accelerator."""

from __future__ import annotations

import importlib.util
from pathlib import Path

from eddy.board.known_answers import known_answers
from eddy.core.slots import Access
from eddy.packages.manifests import load_module_manifest
from eddy.packages.modules import ModuleKind, RegisterKind

ROOT = Path(__file__).resolve().parents[2]


def test_they_are_those_of_the_sources() -> None:
    spec = importlib.util.spec_from_file_location("known_answers_tool", ROOT / "tools" / "known_answers.py")
    assert spec is not None
    assert spec.loader is not None
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)
    assert dict(known_answers()) == tool.all_answers(), "run tools/known_answers.py"


def test_every_accelerator_that_writes_has_some_that_fill_its_registers() -> None:
    manifests = [load_module_manifest(path.parent) for path in sorted((ROOT / "bitstreams").glob("*/manifest.yaml"))]
    accelerators = {
        manifest.module: manifest
        for manifest in manifests
        if manifest.kind is ModuleKind.HLS and any(r.access not in (None, Access.READ) for r in manifest.registers)
    }
    assert set(known_answers()) == set(accelerators)
    for module, trials in known_answers().items():
        assert trials
        for trial in trials:
            named = {*trial.scalars, *trial.inputs, *trial.outputs}
            inputs = {r.name for r in accelerators[module].registers if r.kind is not RegisterKind.STATUS}
            assert named == inputs, module
            assert all(trial.outputs.values())
