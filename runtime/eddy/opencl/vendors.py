# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Where the library is, and the folder of vendors that an ICD loader reads."""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Mapping
from pathlib import Path

from eddy.core.errors import InvalidRequest
from eddy.host.files import translate_os_errors, write_private

SYSTEM_VENDORS = Path("/etc/OpenCL/vendors")
"""Where loaders look where nothing says otherwise."""
_MACHINES = {"x86_64": "x86_64", "amd64": "x86_64", "aarch64": "aarch64", "arm64": "aarch64"}


def library_path() -> Path:
    """The library for this machine.

    Raises:
        InvalidRequest: There is none; the message says for which machines there is.
    """
    machine = _MACHINES.get(platform.machine().lower(), "") if sys.platform == "linux" else ""
    path = Path(__file__).parent / "native" / f"linux-{machine}.so"
    if not machine or not path.is_file():
        message = (
            "There is no OpenCL library for this machine in this installation: Linux on x86-64 and aarch64, with glibc."
        )
        raise InvalidRequest(message, field="platform", allowed="linux-x86_64, linux-aarch64")
    return path


def folder() -> Path:
    """The folder of vendors and of the log, in the user's cache."""
    return Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "eddy" / "opencl"


def write_vendors(system: Path = SYSTEM_VENDORS) -> Path:
    """Write the folder of vendors: Eddy, and those that the system has, as a loader reads one folder only.

    Raises:
        InvalidRequest: There is no library for this machine.
        StorageFailed: The folder cannot be written.
    """
    library, vendors = library_path(), folder() / "vendors"
    with translate_os_errors(vendors):
        wanted = {f"system-{other.name}": other.read_text() for other in system.glob("*.icd")}
        wanted["eddy.icd"] = f"{library}\n"
        for name, text in wanted.items():
            path = vendors / name
            if not path.is_file() or path.read_text() != text:  # a host may be reading it now
                write_private(path, text.encode())
        for old in vendors.glob("*.icd"):
            if old.name not in wanted:
                old.unlink(missing_ok=True)
    return vendors


def environment(system: Path = SYSTEM_VENDORS) -> Mapping[str, str]:
    """What a shell sets so that OpenCL hosts find Eddy: for the loaders of ocl-icd and of Khronos, and for the library.

    Raises:
        InvalidRequest, StorageFailed: As `write_vendors`.
    """
    vendors = str(write_vendors(system))
    return {
        "OCL_ICD_VENDORS": vendors,
        "OPENCL_VENDOR_PATH": vendors,
        "EDDY_OPENCL_PYTHON": sys.executable,
        "EDDY_OPENCL_LOG": os.environ.get("EDDY_OPENCL_LOG") or str(folder() / "opencl.log"),
    }
