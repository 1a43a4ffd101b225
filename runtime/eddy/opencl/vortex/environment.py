# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What a shell sets so that hosts for Vortex are compiled, linked and run with our library."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path

from eddy.host.files import translate_os_errors
from eddy.opencl.vendors import folder, library_path

INCLUDE = Path(__file__).parent / "include"


def environment() -> Mapping[str, str]:
    """Search paths of compilers and of the loader, and what the library reads.

    Raises:
        InvalidRequest: There is no library for this machine.
        StorageFailed: The folder of the library's name cannot be written.
    """
    library, names = library_path(), folder() / "vortex"
    with translate_os_errors(names):
        names.mkdir(parents=True, exist_ok=True)
        link = names / "libvortex.so"
        link.unlink(missing_ok=True)
        link.symlink_to(library)
    return {
        "CPATH": _first(str(INCLUDE), "CPATH"),
        "LIBRARY_PATH": _first(str(names), "LIBRARY_PATH"),
        "LD_LIBRARY_PATH": _first(str(names), "LD_LIBRARY_PATH"),
        "EDDY_OPENCL_PYTHON": sys.executable,
        "EDDY_OPENCL_LOG": os.environ.get("EDDY_OPENCL_LOG") or str(folder() / "opencl.log"),
    }


def _first(path: str, variable: str) -> str:
    """A search path with one folder before the others."""
    others = [each for each in os.environ.get(variable, "").split(os.pathsep) if each and each != path]
    return os.pathsep.join([path, *others])
