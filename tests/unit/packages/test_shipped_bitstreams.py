# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""An installed package has the manifests and applications of the source tree: a board has no source tree."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from eddy.cli.support import installed
from eddy.packages import catalogue

ROOT = Path(__file__).resolve().parents[3]
PROJECT = '[project]\nname = "eddy"\nversion = "0"\n[tool.setuptools.packages.find]\nwhere = ["runtime"]\n'


def test_a_build_has_what_the_source_tree_offers(tmp_path: Path) -> None:
    """`setup.py` in a project that holds nothing else."""
    (tmp_path / "runtime/eddy/packages").mkdir(parents=True)
    for folder in ("eddy", "eddy/packages"):
        (tmp_path / "runtime" / folder / "__init__.py").touch()
    (tmp_path / "pyproject.toml").write_text(PROJECT)
    shutil.copy(ROOT / "setup.py", tmp_path)
    shutil.copytree(ROOT / "bitstreams", tmp_path / "bitstreams")
    done = subprocess.run([sys.executable, "setup.py", "-q", "build"], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    (built,) = (tmp_path / "build").glob("lib*")
    shipped = built / catalogue.SHIPPED.relative_to(ROOT / "runtime")
    found, wanted = (catalogue.load_catalogue(folder) for folder in (shipped, ROOT / "bitstreams"))
    assert found.applications == wanted.applications
    assert found.constants == wanted.constants
    assert set(found.modules) == set(wanted.modules) != set()


def test_the_source_tree_comes_before_what_is_shipped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shipped = tmp_path / "lib/eddy/packages/shipped"
    monkeypatch.setattr(catalogue, "SHIPPED", shipped)
    assert installed.bitstreams_folder("") == ROOT / "bitstreams"
    monkeypatch.setattr(installed, "__file__", str(tmp_path / "lib/eddy/cli/support/installed.py"))
    shipped.mkdir(parents=True)
    assert installed.bitstreams_folder("") == shipped
    assert installed.bitstreams_folder(str(tmp_path)) == tmp_path
