# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What is installed here: the directory of manifests and applications, and extras that are missing."""

from __future__ import annotations

from pathlib import Path

from eddy.core.errors import EddyError, InvalidRequest
from eddy.distribution import install_hint


def bitstreams_folder(given: str) -> Path:
    """The directory of manifests and applications: what was given, or the source tree's, or what the package ships.

    Raises:
        InvalidRequest: There is none.
    """
    from eddy.packages.catalogue import SHIPPED

    source = Path(__file__).resolve().parents[4] / "bitstreams"
    folder = Path(given).expanduser() if given else source if source.is_dir() else SHIPPED
    if not folder.is_dir():
        message = f"There is no directory {folder}; name the one with module manifests and applications."
        raise InvalidRequest(message, field="bitstreams", asked=str(folder))
    return folder


def not_installed(missing: ModuleNotFoundError, extra: str) -> EddyError:
    """The error for a package that another extra brings."""
    return InvalidRequest(f"{missing.name} is not installed here; install it with `{install_hint(extra)}`.")
