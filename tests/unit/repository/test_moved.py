# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Modules are found by the names that they had before their packages had rooms, and are the same modules."""

from __future__ import annotations

import importlib
import subprocess
import sys

import pytest

OLD = {
    "eddy.files": "eddy.host.files",
    "eddy.distribution": "eddy.host.distribution",
    "eddy.gpu.compiler": "eddy.gpu.compilation.compiler",
    "eddy.gpu.build": "eddy.gpu.compilation.build",
    "eddy.gpu.launch": "eddy.gpu.launches.launch",
    "eddy.gpu.shape": "eddy.gpu.programs.shape",
    "eddy.store.blobs": "eddy.store.bytes.blobs",
    "eddy.policy.dispatch.view": "eddy.policy.dispatch.views.view",
    "eddy.studies.judge.sequences": "eddy_studies.judge.sequences",
    "eddy_sim.bench": "eddy_sim.design.bench",
    "eddy.api.sessions": "eddy.api.access.sessions",
    "eddy.hypervisor.commands": "eddy.hypervisor.engine.commands",
}


@pytest.mark.parametrize("old", OLD)
def test_an_old_name_is_the_module_itself(old: str) -> None:
    new = importlib.import_module(OLD[old])
    spec = new.__spec__
    sys.modules.pop(old, None)
    with pytest.warns(DeprecationWarning, match=f"{old} is {OLD[old]}"):
        assert importlib.import_module(old) is new
    assert new.__spec__ is spec
    assert new.__name__ == OLD[old]


@pytest.mark.parametrize("name", ["eddy.nothing", "eddy.gpu.nothing", "eddy.gpu.programs.nothing"])
def test_what_never_was_is_not_found(name: str) -> None:
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module(name)


def test_an_old_name_runs_as_a_program() -> None:
    """`python -m` takes another way to the code than `import`."""
    command = [sys.executable, "-m", "eddy.hypervisor.diagram"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0
    assert done.stdout.startswith("stateDiagram")
