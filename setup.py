# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What `pyproject.toml` cannot say of the wheel: the files of `bitstreams/`, as a board has no source tree to read them
from, and the compiled loops of one platform.

A wheel has the loops of the platform it is for, which its tag names; `EDDY_WHEEL` chooses another one, or `any` for a
wheel without. Where there are none, Python computes the same, slower.
"""

from __future__ import annotations

import os
import platform
import shutil
import sys
from pathlib import Path

from setuptools import Distribution, setup
from setuptools.command.bdist_wheel import bdist_wheel
from setuptools.command.build_py import build_py

SOURCE = Path(__file__).parent / "bitstreams"
TARGET = Path("eddy", "packages", "shipped")
"""`eddy.packages.catalogue.SHIPPED`, in what is built."""
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


class BuildPackages(build_py):
    """`build_py`, with the files of `bitstreams/` that are kept in git, and without other platforms' compiled loops."""

    def run(self) -> None:
        """Build."""
        if not self.editable_mode:
            shutil.rmtree(self.build_lib, ignore_errors=True)  # what was built before and is no more
        super().run()
        if self.editable_mode:
            return
        for suffix in ("*.yaml", "*.bin"):
            for path in sorted(SOURCE.rglob(suffix)):
                target = Path(self.build_lib) / TARGET / path.relative_to(SOURCE)
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(path, target)
        ours = f"linux-{chosen_platform()}"
        for path in Path(self.build_lib).rglob("native/linux-*.so"):
            if path.stem.removesuffix("-v3") != ours:
                path.unlink()


class BuildWheel(bdist_wheel):
    """`bdist_wheel`, tagged with the platform its compiled loops are for; they do not depend on Python's release."""

    def get_tag(self) -> tuple[str, str, str]:
        """Python, ABI and platform."""
        return "py3", "none", TAGS[chosen_platform()]


class Eddy(Distribution):
    """A distribution that is of one platform, although setuptools compiles nothing of it."""

    def has_ext_modules(self) -> bool:
        """Whether it is of one platform."""
        return chosen_platform() != "any"


setup(cmdclass={"build_py": BuildPackages, "bdist_wheel": BuildWheel}, distclass=Eddy)
