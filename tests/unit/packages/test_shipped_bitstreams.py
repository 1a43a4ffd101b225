# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""An installed package has the manifests, applications and hardware of the source tree: a board has no source tree."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from eddy.cli.boards.module import source_root
from eddy.cli.main import app
from eddy.cli.support import installed
from eddy.host import distribution
from eddy.packages import catalogue
from eddy_sim.tools.filelist import read_filelist
from typer.testing import CliRunner

ROOT = Path(__file__).resolve().parents[3]
PROJECT = '[project]\nname = "eddy"\nversion = "0"\n[tool.setuptools.packages.find]\nwhere = ["runtime"]\n'


def test_a_build_has_what_the_source_tree_offers(tmp_path: Path) -> None:
    """`setup.py` in a project that holds nothing else."""
    (tmp_path / "runtime/eddy/packages").mkdir(parents=True)
    for folder in ("eddy", "eddy/packages"):
        (tmp_path / "runtime" / folder / "__init__.py").touch()
    (tmp_path / "pyproject.toml").write_text(PROJECT)
    shutil.copy(ROOT / "setup.py", tmp_path)
    for folder in ("bitstreams", "hw/ip", "hw/regs", "hw/top", "hw/formal"):
        shutil.copytree(ROOT / folder, tmp_path / folder)
    done = subprocess.run([sys.executable, "setup.py", "-q", "build"], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    (built,) = (tmp_path / "build").glob("lib*")
    shipped = built / distribution.SHIPPED.relative_to(ROOT / "runtime") / "bitstreams"
    found, wanted = (catalogue.load_catalogue(folder) for folder in (shipped, ROOT / "bitstreams"))
    assert found.applications == wanted.applications
    assert found.constants == wanted.constants
    assert set(found.modules) == set(wanted.modules) != set()


def test_the_source_tree_comes_before_what_is_shipped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("EDDY_TREE", raising=False)
    shipped = tmp_path / "shipped"
    (shipped / "bitstreams").mkdir(parents=True)
    (tmp_path / "own" / "bitstreams").mkdir(parents=True)
    monkeypatch.setattr(distribution, "SHIPPED", shipped)
    assert installed.bitstreams_folder("") == ROOT / "bitstreams"
    monkeypatch.setattr(distribution, "CLONE", tmp_path / "nothing")
    assert installed.bitstreams_folder("") == shipped / "bitstreams"
    monkeypatch.setenv("EDDY_TREE", str(tmp_path / "own"))
    assert installed.bitstreams_folder("") == tmp_path / "own" / "bitstreams"
    assert installed.bitstreams_folder(str(tmp_path)) == tmp_path


def test_what_is_built_goes_to_the_tree_or_to_the_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("EDDY_TREE", "EDDY_BUILD_DIR"):
        monkeypatch.delenv(name, raising=False)
    assert distribution.build_folder() == ROOT / "build"
    monkeypatch.setattr(distribution, "CLONE", tmp_path / "nothing")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert distribution.build_folder() == tmp_path / "eddy" / "build"
    monkeypatch.setenv("EDDY_TREE", str(tmp_path / "own"))
    assert distribution.build_folder() == tmp_path / "own" / "build"
    monkeypatch.setenv("EDDY_BUILD_DIR", str(tmp_path / "elsewhere"))
    assert distribution.build_folder() == tmp_path / "elsewhere"


def test_a_module_tree_is_made_once_and_takes_modules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(distribution, "SHIPPED", ROOT)  # as if this were what is shipped: no one's own files go there
    monkeypatch.chdir(tmp_path)
    refused = CliRunner().invoke(app, ["module", "new", "brighten"])
    assert refused.exit_code == 2
    assert "eddy module tree DIR" in refused.stderr
    assert CliRunner().invoke(app, ["module", "tree", "mine"]).exit_code == 0
    assert CliRunner().invoke(app, ["module", "tree", "mine"]).exit_code == 2
    monkeypatch.chdir(tmp_path / "mine")
    assert CliRunner().invoke(app, ["module", "new", "brighten"]).exit_code == 0
    assert read_filelist(tmp_path / "mine/hw/ip/brighten/brighten.f")[-1].name == "brighten.sv"


def test_a_tree_that_is_named_comes_before_the_one_around_the_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    monkeypatch.delenv("EDDY_TREE", raising=False)
    assert source_root(ROOT / "docs") == ROOT
    monkeypatch.setenv("EDDY_TREE", str(tmp_path))
    assert source_root(ROOT / "docs") == tmp_path
