# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The source archive and the wheel as the standard build makes them, and Eddy installed from that wheel alone."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest
from eddy.client import Client
from eddy.distribution import install_hint

ROOT = Path(__file__).resolve().parents[3]
TREES = {"runtime": "", "drivers": "", "sim/eddy_sim": "eddy_sim/", "bitstreams": "eddy/packages/shipped/"}
"""Folders of the checkout, and what their files' names begin with in the wheel."""

pytestmark = pytest.mark.xdist_group("wheel")


def tracked(folder: str = ".") -> list[str]:
    """Files that git has, or would have, below a folder."""
    command = ["git", "ls-files", "-co", "--exclude-standard", "-z", folder]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    return sorted(name for name in done.stdout.split("\0") if name and (ROOT / name).is_file())


def build(source: Path, out: Path, *options: str, platform: str = "x86_64") -> list[Path]:
    """What `python -m build` makes; from what is installed, as the tests download nothing."""
    command = [sys.executable, "-m", "build", "--no-isolation", "-o", str(out), *options, str(source)]
    environment = {**os.environ, "EDDY_WHEEL": platform}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    return sorted(out.iterdir())


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the tree as a clone has it, and with what a build before it left."""
    copy = tmp_path_factory.mktemp("checkout")
    for name in tracked():
        (copy / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, copy / name)
    stale = copy / "build" / "lib" / "eddy"
    stale.mkdir(parents=True)
    (stale / "gone.py").write_text("")
    return copy


@pytest.fixture(scope="module")
def built(checkout: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Source archive, and the wheel made from it."""
    source, wheel = sorted(build(checkout, tmp_path_factory.mktemp("dist")), key=lambda path: path.suffix)
    return source, wheel


def names(wheel: Path) -> set[str]:
    """Files of a wheel, its own records apart."""
    with zipfile.ZipFile(wheel) as archive:
        return {name for name in archive.namelist() if ".dist-info/" not in name}


def expected(platform: str) -> set[str]:
    """What of the checkout a wheel has: all of it, but for other platforms' compiled loops."""
    found = set()
    for tree, prefix in TREES.items():
        for name in tracked(tree):
            inside = Path(name).relative_to(tree)
            other = inside.suffix == ".so" and inside.stem.removesuffix("-v3") != f"linux-{platform}"
            shipped = tree != "bitstreams" or inside.suffix in (".yaml", ".bin")
            if not other and shipped:
                found.add(f"{prefix}{inside}")
    return found


def test_the_wheel_has_what_the_checkout_has_and_nothing_else(built: tuple[Path, Path]) -> None:
    _, wheel = built
    assert names(wheel) == expected("x86_64")
    assert {name.partition("/")[0] for name in names(wheel)} == {"eddy", "eddy_drivers", "eddy_sim"}
    assert sum(name.startswith("eddy/packages/shipped/") for name in names(wheel)) > 60
    assert wheel.name == "eddy_fpga-0.1.0-py3-none-manylinux2014_x86_64.whl"


def test_a_wheel_of_the_source_archive_is_that_of_the_checkout(
    built: tuple[Path, Path], checkout: Path, tmp_path: Path
) -> None:
    _, wheel = built
    (direct,) = build(checkout, tmp_path, "--wheel")
    assert names(direct) == names(wheel)


@pytest.mark.parametrize("platform", ["any", "aarch64"])
def test_a_wheel_for_another_platform_has_its_loops_and_says_so(
    built: tuple[Path, Path], tmp_path: Path, platform: str
) -> None:
    subprocess.run(["tar", "-xf", str(built[0]), "-C", str(tmp_path)], check=True)
    (wheel,) = build(next(tmp_path.glob("eddy_fpga-*")), tmp_path / "out", "--wheel", platform=platform)
    assert names(wheel) == expected(platform)
    assert wheel.name.endswith("-py3-none-any.whl" if platform == "any" else "-py3-none-manylinux2014_aarch64.whl")
    with zipfile.ZipFile(wheel) as archive:
        text = archive.read(next(n for n in archive.namelist() if n.endswith("/WHEEL"))).decode()
    assert f"Root-Is-Purelib: {str(platform == 'any').lower()}" in text


@pytest.fixture(scope="module")
def installed(built: tuple[Path, Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A virtual environment with the wheel, outside the checkout; this one lends what Eddy needs."""
    folder = tmp_path_factory.mktemp("installed") / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
    pip(folder, "install", "--no-deps", str(built[1]))
    site = next(folder.glob("lib/python3*/site-packages"))
    lent = next(path for path in sys.path if path.endswith("site-packages"))
    (site / "lent.pth").write_text(f"{lent}\n")  # its own .pth files, by which the checkout is found, are not read
    return folder


def pip(venv: Path, *arguments: str) -> str:
    command = [sys.executable, "-m", "pip", "--python", str(venv / "bin/python"), *arguments]
    done = subprocess.run([*command, "--no-index"], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_it_serves_and_runs_a_job_without_the_checkout(installed: Path, tmp_path: Path) -> None:
    command = [
        f"{installed}/bin/eddy",
        "serve",
        "--board",
        "model",
        "--port",
        "0",
        "--data",
        f"{tmp_path}/data",
        "--json",
    ]
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=tmp_path, env=environment) as server:
        try:
            assert server.stdout is not None
            said = json.loads("".join(iter(server.stdout.readline, "}\n")) + "}")
            with Client(said["url"], Path(said["operator_key_file"]).read_text().strip()) as client:
                assert {app["name"] for app in client.apps()} >= {"image_compression", "lenet", "alexnet"}
                job = client.submit("image_compression", {"image": np.full((1, 128, 128), 100, np.uint8)})
                assert job.wait().data["state"] == "succeeded"
        finally:
            server.terminate()
    where = "import eddy, eddy.market.compiled as c; print(eddy.__file__, c._library() is not None)"
    done = subprocess.run(
        [installed / "bin/python", "-c", where], capture_output=True, text=True, cwd=tmp_path, env=environment
    )
    assert done.stdout.split() == [str(next(installed.glob("lib/python3*/site-packages")) / "eddy/__init__.py"), "True"]


def test_the_printed_command_installs_an_extra_and_fetches_no_other_eddy(installed: Path) -> None:
    """With no index at hand: what it needs is there, and a distribution of Eddy is not looked for."""
    words = install_hint("serve").replace("'", "").split()
    assert words[0] == "pip"
    assert "Requirement already satisfied: eddy-fpga[serve]" in pip(installed, *words[1:])


def test_the_simulated_board_is_refused_in_a_sentence(installed: Path, tmp_path: Path) -> None:
    """The hardware's sources are not in the wheel."""
    command = [f"{installed}/bin/eddy", "serve", "--board", "rtl", "--port", "0", "--data", f"{tmp_path}/data"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, timeout=120)
    assert done.returncode == 2
    assert "a clone of Eddy" in done.stderr.splitlines()[-1]


def test_the_studies_are_a_wheel_of_their_own(checkout: Path, installed: Path, tmp_path: Path) -> None:
    (wheel,) = build(checkout / "studies", tmp_path / "dist", "--wheel")
    assert wheel.name == "eddy_fpga_studies-0.1.0-py3-none-any.whl"
    assert names(wheel) == {name.removeprefix("studies/") for name in tracked("studies/eddy_studies")}
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path / "site")
    command = [f"{installed}/bin/eddy", "simulate", "--help"]
    without = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, timeout=120)
    assert without.returncode == 2
    assert "pip install ./studies" in without.stderr
    environment = {**os.environ, "PYTHONPATH": str(tmp_path / "site")}
    there = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env=environment, timeout=120)
    assert (there.returncode, "virtual" in there.stdout) == (0, True), there.stderr
