# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What `pyproject.toml` cannot say of the source archive and the wheel.

Both have the commit they are of, and are the same bytes whoever builds them, where and when: every file has the time of
that commit, an owner of no name, and one of two modes. `SOURCE_DATE_EPOCH` stands for another time.

A wheel has what a board or a simulation reads of the source tree, `hw/` and `bitstreams/`, and the compiled loops of
the platform it is for, which its tag names; `EDDY_WHEEL` chooses another one, or `any` for a wheel without. Where there
are none, Python computes the same, slower.
"""

from __future__ import annotations

import gzip
import os
import platform
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path
from typing import Any

from setuptools import Distribution, setup
from setuptools.command.bdist_wheel import bdist_wheel
from setuptools.command.build_py import build_py
from setuptools.command.sdist import sdist

ROOT = Path(__file__).parent
SHIPPED = {
    "bitstreams": (".yaml", ".bin"),
    **dict.fromkeys(("hw/ip", "hw/regs", "hw/top", "hw/formal"), (".sv", ".svh", ".f", ".h", ".rdl")),
}
"""Folders of the source tree that are package data, and which of their files; `hw/vivado` is for a clone."""
TARGET = Path("eddy", "shipped")
"""`eddy.host.distribution.SHIPPED`, in what is built."""
COMMIT = Path("runtime", "eddy", "commit.txt")
"""What a source archive has and a clone has not: its commit, and the time of it in seconds since 1970."""
TAGS = {
    "any": "any",
    # The objects need no C library (tools/native_kernels.py), so an old one will do.
    "x86_64": "manylinux2014_x86_64",
    "aarch64": "manylinux2014_aarch64",
}
"""Platforms, and what wheels for them are tagged with."""


def chosen_platform() -> str:
    """A key of `TAGS`: what `EDDY_WHEEL` says, or this machine."""
    machine = platform.machine().lower() if sys.platform == "linux" else "any"
    chosen = os.environ.get("EDDY_WHEEL") or {"amd64": "x86_64", "arm64": "aarch64"}.get(machine, machine)
    if "EDDY_WHEEL" in os.environ and chosen not in TAGS:
        sys.exit(f"EDDY_WHEEL is {chosen}; it can be {', '.join(TAGS)}")
    return chosen if chosen in TAGS else "any"


def read_commit() -> str:
    """The commit of what is built, `-dirty` after it where files differ, and its time; empty where nothing says so."""
    kept = ROOT / COMMIT
    if kept.is_file():
        return kept.read_text(encoding="ascii")
    if not (ROOT / ".git").exists():
        return ""
    name = _git("describe", "--always", "--abbrev=40", "--exclude=*", "--dirty")
    return f"{name} {_git('show', '-s', '--format=%ct', 'HEAD')}\n" if name else ""


def _git(*arguments: str) -> str:
    try:
        return subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return ""


def _write_commit(folder: Path, text: str) -> None:
    """Put it where it is looked for; in a new file, as the one that is there may be a link to the clone's."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    folder.unlink(missing_ok=True)
    folder.write_text(text, encoding="ascii")


def _set_modes(folder: Path) -> None:
    """What a clone or an archive was unpacked with says nothing; `xclbinutil` is a program."""
    for path in folder.rglob("*"):
        path.chmod(0o755 if path.is_dir() or path.name == "xclbinutil" else 0o644)


class BuildPackages(build_py):
    """`build_py`, with what is shipped of the source tree, and without other platforms' compiled loops."""

    def run(self) -> None:
        """Build."""
        if not self.editable_mode:
            shutil.rmtree(self.build_lib, ignore_errors=True)  # what was built before and is no more
        super().run()
        if self.editable_mode:
            return
        built = Path(self.build_lib)
        for folder, suffixes in SHIPPED.items():
            for path in sorted((ROOT / folder).rglob("*")):
                if path.suffix in suffixes:
                    target = built / TARGET / path.relative_to(ROOT)
                    target.parent.mkdir(parents=True, exist_ok=True)
                    shutil.copyfile(path, target)
        if text := read_commit():
            _write_commit(built / "eddy" / COMMIT.name, text)
        ours = f"linux-{chosen_platform()}"
        for path in built.rglob("native/linux-*.so"):
            if path.stem.removesuffix("-v3") != ours:
                path.unlink()


class BuildSource(sdist):
    """`sdist`, with the commit, and with nothing in it of who built it and when."""

    def make_release_tree(self, base_dir: str, files: list[str]) -> None:
        """Lay out what goes in."""
        super().make_release_tree(base_dir, files)
        if text := read_commit():
            _write_commit(Path(base_dir, COMMIT), text)

    def make_archive(self, base_name: str, format: str, root_dir: Any = None, base_dir: Any = None, **_: Any) -> str:
        """Pack it; every entry has the same time and owner, and they are in order."""
        if format != "gztar":
            sys.exit(f"a source archive is a .tar.gz, not {format}")
        inside = Path(root_dir or ".", base_dir)
        made = Path(f"{base_name}.tar.gz")
        made.parent.mkdir(parents=True, exist_ok=True)
        at_s = int(os.environ.get("SOURCE_DATE_EPOCH", "0"))
        with (
            made.open("wb") as raw,
            gzip.GzipFile("", "wb", 9, raw, mtime=at_s) as packed,
            tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as archive,
        ):
            for path in sorted(path for path in inside.rglob("*") if path.is_file()):
                entry = tarfile.TarInfo(str(Path(base_dir, path.relative_to(inside))))
                entry.size, entry.mtime = path.stat().st_size, at_s
                entry.mode = 0o755 if os.access(path, os.X_OK) else 0o644
                with path.open("rb") as file:
                    archive.addfile(entry, file)
        return str(made)


class BuildWheel(bdist_wheel):
    """`bdist_wheel`, tagged with the platform its compiled loops are for; they do not depend on Python's release."""

    def get_tag(self) -> tuple[str, str, str]:
        """Python, ABI and platform."""
        return "py3", "none", TAGS[chosen_platform()]

    def egg2dist(self, egginfo_path: str, distinfo_path: str) -> None:
        """Write the metadata: the last of what goes in."""
        super().egg2dist(egginfo_path, distinfo_path)
        if Path(distinfo_path).parent == Path(self.bdist_dir):
            _set_modes(Path(self.bdist_dir))


class Eddy(Distribution):
    """A distribution that is of one platform, although setuptools compiles nothing of it."""

    def has_ext_modules(self) -> bool:
        """Whether it is of one platform."""
        return chosen_platform() != "any"


os.umask(0o022)
if known := read_commit().split():
    os.environ.setdefault("SOURCE_DATE_EPOCH", known[1])
setup(
    cmdclass={"build_py": BuildPackages, "bdist_wheel": BuildWheel, "sdist": BuildSource},
    distclass=Eddy,
)
