"""Puts the manifests and applications of `bitstreams/` into the wheel: a board has no source tree to read them from."""

from __future__ import annotations

import shutil
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

SOURCE = Path(__file__).parent / "bitstreams"
TARGET = Path("eddy", "packages", "shipped")
"""`eddy.packages.catalogue.SHIPPED`, in what is built."""


class BuildWithBitstreams(build_py):
    """`build_py`, and the files of `bitstreams/` that are kept in git."""

    def run(self) -> None:
        """Build."""
        super().run()
        if self.editable_mode:
            return
        for suffix in ("*.yaml", "*.bin"):
            for path in sorted(SOURCE.rglob(suffix)):
                target = Path(self.build_lib) / TARGET / path.relative_to(SOURCE)
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(path, target)


setup(cmdclass={"build_py": BuildWithBitstreams})
