# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The applications and modules a hypervisor offers: what ships with it, and what an operator added.

A `Catalogue` is a value: nothing in it changes. A server has one in force at a time, in a `CatalogueInForce`; adding an
application puts another one in its place, so whoever reads, in whatever thread, reads one catalogue or the next.
"""

from __future__ import annotations

import dataclasses
import functools
import json
import logging
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeVar

from eddy.core.applications import Application
from eddy.core.errors import Conflict, InvalidRequest, NotFound, PackageRefused
from eddy.core.fusion import list_forms
from eddy.host.files import damaged_file_error, translate_os_errors, write_private
from eddy.packages.applications import load_application, load_constants
from eddy.packages.manifests import load_module_manifest
from eddy.packages.modules import ModuleKind, ModuleManifest
from eddy.packages.signatures import PackageTrust, parse_package

_log = logging.getLogger(__name__)
GROUP_S = 20e-6
"""Seconds a work-group of a kernel takes on a model board, where nobody measured it."""
UNKNOWN_S = 1e-3
"""What an item takes on a module that no application uses."""


@dataclass(frozen=True)
class Catalogue:
    """Applications by name, over the modules by name; the mappings given are copied.

    Attributes:
        modules: Manifests by module name.
        applications: By name.
        constants: Bytes the packages ship, by (application, buffer).
    """

    modules: Mapping[str, ModuleManifest]
    applications: Mapping[str, Application]
    constants: Mapping[tuple[str, str], bytes] = dataclasses.field(default_factory=dict)

    def __post_init__(self) -> None:
        for field in dataclasses.fields(self):
            object.__setattr__(self, field.name, MappingProxyType(dict(getattr(self, field.name))))

    def application(self, name: str) -> Application:
        """One application.

        Raises:
            NotFound: There is none of that name; says which there are.
        """
        if name not in self.applications:
            names = sorted(self.applications)
            raise NotFound(f"There is no application {name!r}.", field="application", asked=name, allowed=names)
        return self.applications[name]

    def estimate_s(self, module: str) -> float:
        """What one item takes on a module, as the applications that use it estimate: the longest; 1 ms for no one's.

        On a GPU cluster, what a work-group of a kernel takes: `GROUP_S`.
        """
        manifest = self.modules.get(module)
        if manifest is not None and manifest.kind is ModuleKind.GPU:
            return GROUP_S
        every = (form for application in self.applications.values() for form in list_forms(application))
        tasks = (task for form in every for task in form.tasks)
        return max((task.estimate_s for task in tasks if task.module == module), default=UNKNOWN_S)

    @functools.cached_property
    def estimates_s(self) -> Mapping[str, float]:
        """Estimates of an item, by task (as `Launch.task`) and by module."""
        tasks = {
            form.task_name(task.id): task.estimate_s
            for application in self.applications.values()
            for form in list_forms(application)
            for task in form.tasks
        }
        return MappingProxyType({**{name: self.estimate_s(name) for name in self.modules}, **tasks})

    def shipped(self, name: str) -> frozenset[str]:
        """The constant buffers an application's package brings."""
        return frozenset(buffer for application, buffer in self.constants if application == name)

    def with_application(self, application: Application) -> Catalogue:
        """A catalogue with one more application; this very one where it is in it already.

        Raises:
            InvalidRequest: A task asks for a module that is not there, or does not fit it.
            Conflict: Another application has that name.
        """
        self._check_modules(application)
        found = self.applications.get(application.name)
        if found == application:
            return self
        if found is not None:
            message = f"There is another application {application.name!r} already; give yours another name."
            raise Conflict(message, field="application")
        return dataclasses.replace(self, applications={**self.applications, application.name: application})

    def _check_modules(self, application: Application) -> None:
        tasks = (task for form in list_forms(application) for task in form.tasks)
        for task in {task.name: task for task in tasks}.values():
            if task.module not in self.modules:
                raise InvalidRequest(
                    f"Task {task.name} asks for module {task.module!r}, which this server does not have.",
                    field=f"tasks.{task.name}.module",
                    allowed=sorted(self.modules),
                )
            self.modules[task.module].check_task(task, application.buffers)


V = TypeVar("V")


class _Now(Mapping[str, V]):
    """What a mapping that is replaced holds when it is looked at; nobody changes it through this."""

    def __init__(self, current: Callable[[], Mapping[str, V]]) -> None:
        self._current = current

    def __getitem__(self, name: str) -> V:
        return self._current()[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._current())

    def __len__(self) -> int:
        return len(self._current())


class CatalogueInForce:
    """The catalogue a server offers now.

    Args:
        catalogue: The first one.
        folder: Directory that keeps what is added, or None to keep nothing.
        trust: Whose packages may be added; anybody's where left out.
    """

    def __init__(self, catalogue: Catalogue, folder: Path | None = None, trust: PackageTrust | None = None) -> None:
        self._trust = trust or PackageTrust()
        self.now = catalogue
        self._folder = folder
        self._adding = threading.Lock()
        self.applications: Mapping[str, Application] = _Now(lambda: self.now.applications)
        """By name, as they are when looked at; the only thing here that changes under who holds it."""
        self.estimates_s: Mapping[str, float] = _Now(lambda: self.now.estimates_s)
        """As `Catalogue.estimates_s` gives them when looked at."""

    def add(self, raw: Mapping[str, Any]) -> tuple[Application, bool]:
        """Add an application; adding the same one again changes nothing.

        Args:
            raw: The package, with its `signature` where it has one.

        Returns:
            The application, and whether it is new.

        Raises:
            InvalidRequest: A field is wrong, or a task asks for a module that is not there.
            Conflict: Another application has that name.
            PackageRefused: Nobody who is trusted signed it.
        """
        application, signature = parse_package(raw)
        self._trust.check(application, signature)
        with self._adding:
            grown = self.now.with_application(application)
            if grown is self.now:
                return application, False
            if self._folder is not None:
                write_private(self._folder / f"{application.name}.json", json.dumps(raw).encode())
            self.now = grown
        return application, True


def load_catalogue(bitstreams: Path, added: Path | None = None, trust: PackageTrust | None = None) -> Catalogue:
    """The catalogue of a `bitstreams/` directory: `<module>/manifest.yaml`, `applications/*.yaml`, and their constants.

    Args:
        added: Directory with what an operator added; what ships under the same name goes before it.
        trust: Whose packages count among those; the others are left out, and named in the log. What ships is trusted.

    Raises:
        InvalidRequest: A manifest or a package is wrong; the message names the file.
        StorageDamaged: A file of `added` does not hold an application.
    """
    modules = {path.parent.name: load_module_manifest(path) for path in sorted(bitstreams.glob("*/manifest.yaml"))}
    applications: dict[str, Application] = {}
    constants: dict[tuple[str, str], bytes] = {}
    for path in sorted((bitstreams / "applications").glob("*.yaml")):
        application = load_application(path)
        applications[application.name] = application
        shipped = load_constants(path, application)
        constants |= {(application.name, buffer): data for buffer, data in shipped.items()}
    kept = [] if added is None else _trusted(sorted(added.glob("*.json")), trust or PackageTrust())
    return Catalogue(modules, {**{each.name: each for each in kept}, **applications}, constants)


def _trusted(paths: Sequence[Path], trust: PackageTrust) -> Iterator[Application]:
    for path in paths:
        application, signature = _kept(path)
        try:
            trust.check(application, signature)
        except PackageRefused as refusal:
            _log.error("%s is not offered: %s", path, refusal.message)
            continue
        yield application


def _kept(path: Path) -> tuple[Application, str]:
    """An application that was added, with its signature.

    Raises:
        StorageDamaged: The file does not hold one.
    """
    fix = "restore it from a backup, or remove it and add the application again; its jobs fail until then"
    if not path.is_file():
        raise damaged_file_error(path, "is no file", fix)
    try:
        with translate_os_errors(path):
            return parse_package(json.loads(path.read_bytes()))
    except (ValueError, InvalidRequest) as error:
        how = error.message if isinstance(error, InvalidRequest) else str(error)
        raise damaged_file_error(path, f"does not hold an application ({how})", fix) from error
