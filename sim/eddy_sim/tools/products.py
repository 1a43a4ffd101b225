# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Where built files lie, and how each is built once however many processes want it.

A product is one file in the build folder, named by what it is made of. It is made in a folder of its own and moved into
place in one step, by one process at a time.
"""

from __future__ import annotations

import contextlib
import fcntl
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from eddy.host import distribution

ROOT = distribution.source_tree()
"""Root of the source tree."""
HARDWARE = ROOT / "hw"
"""Our own sources."""

Progress = Callable[[str], None]
"""Takes one line about what is being built."""


def build_folder() -> Path:
    """Where products go: `sim` in the folder of what is built."""
    return distribution.build_folder() / "sim"


def ignore_progress(_message: str) -> None:
    """A progress callback that says nothing."""


def product(name: str, make: Callable[[Path], None], progress: Progress = ignore_progress) -> Path:
    """The product of that name, made where it is missing.

    Args:
        name: File name; says what it is made of, by a hash.
        make: Leaves the product in the folder it is given, as `out`.
        progress: Told what is being built.
    """
    folder = build_folder()
    final = folder / name
    if final.is_file():
        return final
    folder.mkdir(parents=True, exist_ok=True)
    with _locked(folder / f".{name}.lock"):
        if final.is_file():
            return final
        progress(f"building {name.rsplit('-', 1)[0]}")
        work = Path(tempfile.mkdtemp(prefix=f".{name}.", dir=folder))
        try:
            make(work)
            (work / "out").replace(final)
        finally:
            shutil.rmtree(work, ignore_errors=True)
    return final


@contextlib.contextmanager
def _locked(path: Path) -> Iterator[None]:
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
