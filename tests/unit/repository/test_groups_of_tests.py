# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Tests that share a build or a server stay together: a group is run by one worker, one test after the other."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

TESTS = """
import os
from pathlib import Path

import pytest

pytestmark = pytest.mark.xdist_group("together")


@pytest.mark.parametrize("number", range(20))
def test_it(number: int) -> None:
    Path(f"{os.environ['PYTEST_XDIST_WORKER']}.{number}").touch()
"""


def test_a_group_is_run_by_one_worker(tmp_path: Path) -> None:
    (tmp_path / "test_group.py").write_text(TESTS)
    command = [sys.executable, "-m", "pytest", "-n", "2", "--dist", "loadgroup", "-p", "no:cacheprovider"]
    subprocess.run([*command, "--rootdir", str(tmp_path)], cwd=tmp_path, check=True, timeout=180)
    ran = [path.name.split(".")[0] for path in tmp_path.glob("gw*")]
    assert len(ran) == 20
    assert len(set(ran)) == 1
