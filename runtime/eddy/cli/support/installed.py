# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What is installed here: the directory of manifests and applications, and extras that are missing."""

from __future__ import annotations

from pathlib import Path

from eddy.core.errors import EddyError, InvalidRequest
from eddy.host.distribution import advise_install, source_tree


def bitstreams_folder(given: str) -> Path:
    """The directory of manifests and applications: what was given, or the source tree's.

    Raises:
        InvalidRequest: There is none.
    """
    folder = Path(given).expanduser() if given else source_tree() / "bitstreams"
    if not folder.is_dir():
        message = f"There is no directory {folder}; name the one with module manifests and applications."
        raise InvalidRequest(message, field="bitstreams", asked=str(folder))
    return folder


def not_installed(missing: ModuleNotFoundError, extra: str) -> EddyError:
    """The error for a package that another extra brings."""
    return InvalidRequest(f"{missing.name} is not installed here; {advise_install(missing.name, extra)}.")
