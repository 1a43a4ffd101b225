# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What `pyproject.toml` cannot say of the wheel: its files have one mode, whatever those of the clone have."""

from __future__ import annotations

import os
from pathlib import Path

from setuptools import setup
from setuptools.command.bdist_wheel import bdist_wheel


class BuildWheel(bdist_wheel):
    """`bdist_wheel`, the same bytes whoever builds it."""

    def egg2dist(self, egginfo_path: str, distinfo_path: str) -> None:
        """Write the metadata: the last of what goes in."""
        super().egg2dist(egginfo_path, distinfo_path)
        if Path(distinfo_path).parent == Path(self.bdist_dir):
            for path in Path(self.bdist_dir).rglob("*"):
                path.chmod(0o755 if path.is_dir() else 0o644)


os.umask(0o022)
setup(cmdclass={"bdist_wheel": BuildWheel})
