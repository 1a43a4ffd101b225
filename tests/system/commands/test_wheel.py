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
from eddy.host.distribution import build_folder, install_hint

ROOT = Path(__file__).resolve().parents[3]
TREES = {
    **{"runtime": "", "drivers": "", "sim/eddy_sim": "eddy_sim/", "bitstreams": "eddy/shipped/bitstreams/"},
    **{f"hw/{folder}": f"eddy/shipped/hw/{folder}/" for folder in ("ip", "regs", "top", "formal")},
}
"""Folders of the checkout, and what their files' names begin with in the wheel."""
COMMIT = "eddy/commit.txt"

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
    """Source archive, and the wheel made from it, of a commit."""
    git = ["git", "-c", "user.name=nobody", "-c", "user.email=nobody@localhost"]
    for command in (["init", "-q"], ["add", "-A"], ["commit", "-q", "-m", "all"]):
        subprocess.run([*git, *command], cwd=checkout, check=True)
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
            shipped = "/shipped/" not in prefix or inside.suffix != ".md"
            if not other and shipped:
                found.add(f"{prefix}{inside}")
    return found | {COMMIT}


def test_the_wheel_has_what_the_checkout_has_and_nothing_else(built: tuple[Path, Path]) -> None:
    _, wheel = built
    assert names(wheel) == expected("x86_64")
    assert {name.partition("/")[0] for name in names(wheel)} == {"eddy", "eddy_drivers", "eddy_sim"}
    assert sum(name.startswith("eddy/shipped/bitstreams/") for name in names(wheel)) > 60
    assert sum(name.startswith("eddy/shipped/hw/") for name in names(wheel)) > 250
    assert wheel.name == "eddy_fpga-0.1.0-py3-none-manylinux2014_x86_64.whl"


def test_a_wheel_of_the_source_archive_is_that_of_the_checkout(
    built: tuple[Path, Path], checkout: Path, tmp_path: Path
) -> None:
    _, wheel = built
    """Byte by byte, although the clone was made with other modes and at another time."""
    for path in (checkout / "runtime").rglob("*.py"):
        path.chmod(0o600)
        os.utime(path, (1e9, 1e9))
    (direct,) = build(checkout, tmp_path, "--wheel")
    assert direct.read_bytes() == wheel.read_bytes()


def test_a_source_archive_made_again_is_the_same_bytes(
    built: tuple[Path, Path], checkout: Path, tmp_path: Path
) -> None:
    (source,) = build(checkout, tmp_path, "--sdist")
    assert source.read_bytes() == built[0].read_bytes()


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


@pytest.mark.parametrize("board", ["model", pytest.param("rtl", marks=pytest.mark.rtl)])
def test_it_serves_and_runs_a_job_without_the_checkout(installed: Path, board: str, tmp_path: Path) -> None:
    """The simulated board is built of the sources in the wheel: its parts are named by those, and found built."""
    command = [
        f"{installed}/bin/eddy",
        "serve",
        "--board",
        board,
        "--port",
        "0",
        "--data",
        f"{tmp_path}/data",
        "--json",
    ]
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    environment["EDDY_BUILD_DIR"] = str(build_folder())
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


def test_what_is_imported_is_the_wheel_with_its_commit(installed: Path, checkout: Path, tmp_path: Path) -> None:
    environment = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "EDDY_BUILD_DIR")}
    where = (
        "import eddy, eddy.host.distribution as d, eddy.market.compiled as c;"
        "print(eddy.__file__, c._library() is not None, d.commit(), d.source_tree(), d.build_folder())"
    )
    command = [str(installed / "bin/python"), "-c", where]
    environment["XDG_CACHE_HOME"] = str(tmp_path)
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env=environment)
    head = subprocess.run(["git", "rev-parse", "HEAD"], cwd=checkout, capture_output=True, text=True, check=True).stdout
    package = next(installed.glob("lib/python3*/site-packages")) / "eddy"
    folders = [str(package / "shipped"), str(tmp_path / "eddy" / "build")]
    assert done.stdout.split() == [str(package / "__init__.py"), "True", head.strip(), *folders], done.stderr


def test_the_printed_command_installs_an_extra_and_fetches_no_other_eddy(installed: Path) -> None:
    """With no index at hand: what it needs is there, and a distribution of Eddy is not looked for."""
    words = install_hint("serve").replace("'", "").split()
    assert words[0] == "pip"
    assert "Requirement already satisfied: eddy-fpga[serve]" in pip(installed, *words[1:])


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
