# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Whether a module's check is on record, read when it is asked: a check may be made while a server runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from eddy.core.errors import InvalidRequest
from eddy.packages.manifests import load_module_manifest
from eddy.packages.modules import ModuleManifest, no_check

Standing = Callable[[str, str], str]
"""Why no job is given a build of a module, by both their names; "" where its check is on record."""


def never(module: str, build: str) -> str:
    """Where no records are read again."""
    return no_check(module)


@dataclass(frozen=True, slots=True)
class ChecksOnRecord:
    """The records beside the manifests of a folder.

    Attributes:
        folder: `<module>/manifest.yaml`, and the records beside them.
        loaded: The manifests as they were when the server began.
        any_build: Whether the record of any build counts: a board that models time alone has no builds.
    """

    folder: Path
    loaded: Mapping[str, ModuleManifest]
    any_build: bool = False

    def __call__(self, module: str, build: str) -> str:
        """As `Standing` says it."""
        before = self.loaded.get(module)
        try:
            now = load_module_manifest(self.folder / module)
        except InvalidRequest:
            return no_check(module)
        if before is None or not now.checked_build:
            return no_check(module)
        same = now.interface == before.interface
        if same and (self.any_build or now.checked_build == build):
            return ""
        if same and now.checked_build == before.checked_build:
            return no_check(module)
        return (
            f"module {module} was checked, but its sources or manifest have changed since this server was started, so"
            " it holds another build than the one that was checked; a restart builds the module from today's sources"
        )
