# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The runs that `eddy board-test` knows the results of: as the numpy models compute them now, for every module."""

from __future__ import annotations

import importlib.util
from pathlib import Path

from eddy.board.selftest.known_answers import UNTOUCHED, KnownKernel, known_answers
from eddy.core.slots import Access
from eddy.packages.manifests import load_module_manifest
from eddy.packages.modules import ModuleKind, RegisterKind

ROOT = Path(__file__).resolve().parents[4]


def test_they_are_those_of_the_sources() -> None:
    spec = importlib.util.spec_from_file_location("known_answers_tool", ROOT / "tools" / "known_answers.py")
    assert spec is not None
    assert spec.loader is not None
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)
    assert dict(known_answers()) == tool.all_answers(), "run tools/known_answers.py"


def test_every_module_that_writes_has_some_that_fill_its_registers() -> None:
    manifests = [load_module_manifest(path.parent) for path in sorted((ROOT / "bitstreams").glob("*/manifest.yaml"))]
    writers = {
        each.module: each
        for each in manifests
        if each.kind is ModuleKind.GPU or any(r.access not in (None, Access.READ) for r in each.registers)
    }
    assert set(known_answers()) == set(writers)
    for module, trials in known_answers().items():
        assert len(trials) == 2
        for trial in trials:
            assert all(trial.outputs.values())
            assert any(set(data) != {UNTOUCHED} for data in trial.outputs.values()), (
                "a module that does nothing is wrong"
            )
            if isinstance(trial, KnownKernel):
                continue
            named = {*trial.scalars, *trial.inputs, *trial.outputs}
            assert named == {r.name for r in writers[module].registers if r.kind is not RegisterKind.STATUS}, module
