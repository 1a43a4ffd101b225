# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Names of modules before they had rooms: `eddy.gpu.shape` is found as `eddy.gpu.programs.shape`, for one release.

What is in a room is looked for last, when nothing else has found the module; so it costs an import that succeeds
nothing.
"""

from __future__ import annotations

import importlib.util
import sys
import warnings
from importlib.abc import InspectLoader
from importlib.machinery import ModuleSpec
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import CodeType, ModuleType

PACKAGES = frozenset({"eddy", "eddy_sim"})
RENAMED = {"eddy.studies": "eddy_studies"}
"""Packages that have another name, by the old one."""
ROOMS = {
    **{"eddy.api.sessions": "access", "eddy.api.usage": "routes"},
    **{"eddy.hypervisor.commands": "engine", "eddy.hypervisor.memory": "slots", "eddy_sim.bench": "design"},
}
"""Rooms of modules whose names others have had since."""


class Moved:
    """Loads a module by its old name: answers the module itself, and says its new name in a warning.

    Old and new name are one module with one state.
    """

    def __init__(self) -> None:
        self._new: dict[str, str] = {}
        self._specs: dict[str, ModuleSpec | None] = {}

    def spec(self, old: str, new: str) -> ModuleSpec | None:
        """How `old` is loaded, if there is such a module as `new`."""
        found = importlib.util.find_spec(new)
        if found is None:
            return None
        self._new[old] = new
        return ModuleSpec(old, self, origin=found.origin)  # type: ignore[arg-type]

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """See `importlib.abc.Loader`."""
        new = self._new[spec.name]
        warnings.warn(f"{spec.name} is {new}; the old name ends with this release", DeprecationWarning, stacklevel=2)
        module = importlib.import_module(new)
        self._specs[spec.name] = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        """See `importlib.abc.Loader`. The module has run under its own name; it keeps its own specification."""
        assert module.__spec__ is not None
        module.__spec__ = self._specs.pop(module.__spec__.name)

    def get_code(self, fullname: str) -> CodeType | None:
        """See `importlib.abc.InspectLoader`: what `python -m` runs."""
        new = self._new[fullname]
        found = importlib.util.find_spec(new)
        assert found is not None
        assert isinstance(found.loader, InspectLoader)
        return found.loader.get_code(new)


class Renamed(Moved):
    """Finds what lies in a package that has another name. Python would find its modules a second time by their
    files."""

    def find_spec(self, fullname: str, path: Sequence[str] | None = None, target: object = None) -> ModuleSpec | None:
        """See `importlib.abc.MetaPathFinder`."""
        for old, new in RENAMED.items():
            if fullname == old or fullname.startswith(f"{old}."):
                return self.spec(fullname, new + fullname.removeprefix(old))
        return None


class Roomed(Moved):
    """Finds a module in the one room of its package that has a module of that name."""

    def find_spec(self, fullname: str, path: Sequence[str] | None = None, target: object = None) -> ModuleSpec | None:
        """See `importlib.abc.MetaPathFinder`."""
        package, _, name = fullname.rpartition(".")
        if path is None or package.partition(".")[0] not in PACKAGES:
            return None
        rooms = {found.parent.name for folder in path for found in Path(folder).glob(f"*/{name}.py")}
        room = ROOMS.get(fullname) or (rooms.pop() if len(rooms) == 1 else "")
        return self.spec(fullname, f"{package}.{room}.{name}") if room else None


def install() -> None:
    """Makes old names known to `import`, once."""
    if not any(isinstance(finder, Moved) for finder in sys.meta_path):
        sys.meta_path.insert(0, Renamed())
        sys.meta_path.append(Roomed())
