# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What Eddy with extras takes on a board: resolved for the board's Python, wheels alone, with their sizes."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import zipfile
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

from eddy.host.distribution import NAME
from packaging.requirements import Requirement

ROOT = Path(__file__).resolve().parents[2]
SOURCE_ONLY = ("pynq", "pynqmetadata", "pynqutils")
"""Releases that exist as source alone. PYNQ's images have them; or pynq is built without its native parts, and the
other two, which have none, anywhere. There are wheels of earlier releases of these, which pynq 4.0 does not import."""
PURE = SOURCE_ONLY[1:]
GLIBC = range(17, 36)
"""Minor releases of glibc 2 whose wheels a PYNQ image takes: Ubuntu 22.04 has 2.35."""
_SOURCES = ("pyproject.toml", "setup.py", "README.md", "LICENSE", "runtime", "drivers", "sim", "bitstreams")


@dataclass(frozen=True)
class Wheels:
    """Wheels in a folder.

    Attributes:
        packed_bytes: Their size as files.
        bytes: Their size unpacked, byte code not counted.
    """

    folder: Path
    packed_bytes: int
    bytes: int
    count: int


def requirements(extras: tuple[str, ...]) -> list[str]:
    """What Eddy with some extras needs, in pip's words, and what the packages without a wheel need in their turn."""
    wanted = [Requirement(line) for line in metadata.requires(NAME) or ()]
    left = [each for each in wanted if each.marker is None or any(each.marker.evaluate({"extra": e}) for e in extras)]
    found, seen = set(), set()
    while left:
        each = left.pop()
        if each.name not in SOURCE_ONLY:
            found.add(_plain(each))
        elif each.name not in seen:
            seen.add(each.name)
            needs = map(Requirement, metadata.requires(each.name) or ())
            left += [need for need in needs if need.marker is None]
    return sorted(found)


def pure(folder: Path) -> None:
    """Build wheels of the releases that are source alone and have no native parts, as this environment has them."""
    _pip("wheel", "-q", "--no-deps", "-w", str(folder), *(f"{name}=={metadata.version(name)}" for name in PURE))


def _plain(requirement: Requirement) -> str:
    return f"{requirement.name}{requirement.specifier}"


def download(extras: tuple[str, ...], python: str, folder: Path) -> Wheels:
    """Download wheels for aarch64, and build those of `PURE` where they are needed.

    Args:
        python: As ``3.10``.
        folder: Where they go; emptied first.

    Raises:
        subprocess.CalledProcessError: Something has no wheel; pip says what.
    """
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    platforms = [f"--platform=manylinux_2_{minor}_aarch64" for minor in GLIBC] + ["--platform=manylinux2014_aarch64"]
    target = [*platforms, f"--python-version={python}", "--implementation=cp", "--only-binary=:all:"]
    _pip("download", "-q", "-c", str(ROOT / "tools/constraints.txt"), "-d", str(folder), *target, *requirements(extras))
    if "board" in extras:
        pure(folder)
    return sizes(folder)


def sizes(folder: Path) -> Wheels:
    """How large the wheels of a folder are."""
    files = sorted(folder.glob("*.whl"))
    unpacked = 0
    for file in files:
        with zipfile.ZipFile(file) as wheel:
            unpacked += sum(entry.file_size for entry in wheel.infolist())
    return Wheels(folder, sum(file.stat().st_size for file in files), unpacked, len(files))


def own_wheel(folder: Path) -> Path:
    """Eddy's own wheel, built from a copy of the tree, so that nothing is left in it."""
    copy = folder / "source"
    shutil.rmtree(copy, ignore_errors=True)
    copy.mkdir(parents=True)
    for name in _SOURCES:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, copy / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(source, copy / name)
    _pip("wheel", "-q", "--no-deps", "-w", str(folder), str(copy), EDDY_WHEEL="aarch64")
    shutil.rmtree(copy)
    return next(folder.glob("eddy_fpga-*.whl"))


def _pip(*arguments: str, **more: str) -> None:
    environment = {**os.environ, "PIP_DISABLE_PIP_VERSION_CHECK": "1", "PIP_NO_WARN_CONFLICTS": "1", **more}
    subprocess.run([sys.executable, "-m", "pip", *arguments], check=True, env=environment)
