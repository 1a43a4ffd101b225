"""The applications and modules a hypervisor offers: what ships with it, and what an operator added."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from eddy.board.manifest import ModuleManifest, load_module_manifest
from eddy.core.applications import Application
from eddy.core.errors import Conflict, InvalidRequest, NotFound
from eddy.files import damaged, os_errors, write_private
from eddy.hypervisor.translate import task_name
from eddy.store.applications import load_application, load_constants, parse_application


class Catalogue:
    """Applications by name, over the modules by name.

    Args:
        modules: Manifests by module name.
        applications: What ships; the catalogue adds to this very mapping, so that a hypervisor holding it sees more.
        constants: Bytes the packages ship, by (application, buffer).
        added: Directory that keeps what was added, or None to keep nothing.
    """

    def __init__(
        self,
        modules: Mapping[str, ModuleManifest],
        applications: dict[str, Application],
        constants: Mapping[tuple[str, str], bytes] | None = None,
        added: Path | None = None,
    ) -> None:
        self.modules = modules
        self.applications = applications
        self.constants = dict(constants or {})
        self._added = added
        if added is not None and added.is_dir():
            for path in sorted(added.glob("*.json")):
                application = _kept(path)
                self.applications.setdefault(application.name, application)

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
        """What one item takes on a module, as the applications that use it estimate: the longest; 1 ms for no one's."""
        tasks = (task for application in self.applications.values() for task in application.tasks)
        return max((task.estimate_s for task in tasks if task.module == module), default=1e-3)

    def estimates_s(self) -> Mapping[str, float]:
        """Estimates of an item, by task (as `Launch.task`) and by module; applications added later are in it too."""
        return _Estimates(self)

    def shipped(self, name: str) -> frozenset[str]:
        """The constant buffers an application's package brings."""
        return frozenset(buffer for application, buffer in self.constants if application == name)

    def add(self, raw: Mapping[str, Any]) -> tuple[Application, bool]:
        """Add an application; adding the same one again changes nothing.

        Returns:
            The application, and whether it is new.

        Raises:
            InvalidRequest: A field is wrong, or a task asks for a module that is not there.
            Conflict: Another application has that name.
        """
        application = parse_application(raw)
        self._check_modules(application)
        known = self.applications.get(application.name)
        if known == application:
            return known, False
        if known is not None:
            message = f"There is another application {application.name!r} already; give yours another name."
            raise Conflict(message, field="application")
        if self._added is not None:
            write_private(self._added / f"{application.name}.json", json.dumps(raw).encode())
        self.applications[application.name] = application
        return application, True

    def _check_modules(self, application: Application) -> None:
        for task in application.tasks:
            if task.module not in self.modules:
                raise InvalidRequest(
                    f"Task {task.name} asks for module {task.module!r}, which this server does not have.",
                    field=f"tasks.{task.name}.module",
                    allowed=sorted(self.modules),
                )
            self.modules[task.module].check_task(task, application.buffers)


def _kept(path: Path) -> Application:
    """An application that was added.

    Raises:
        StorageDamaged: The file does not hold one.
    """
    try:
        with os_errors(path):
            return parse_application(json.loads(path.read_bytes()))
    except (ValueError, InvalidRequest) as error:
        how = error.message if isinstance(error, InvalidRequest) else str(error)
        fix = "restore it from a backup, or remove it and add the application again; its jobs fail until then"
        raise damaged(path, f"does not hold an application ({how})", fix) from error


class _Estimates(Mapping[str, float]):
    """What a catalogue's applications estimate, as they are when asked.

    Args:
        catalogue: Whose.
    """

    def __init__(self, catalogue: Catalogue) -> None:
        self._catalogue = catalogue

    def __getitem__(self, name: str) -> float:
        """Seconds an item of a task, or of a module, takes."""
        application = self._catalogue.applications.get(name.partition("/")[0])
        if application is not None:
            for task in application.tasks:
                if task_name(application, task.id) == name:
                    return task.estimate_s
        if name in self._catalogue.modules:
            return self._catalogue.estimate_s(name)
        raise KeyError(name)

    def __iter__(self) -> Iterator[str]:
        """Every task and every module."""
        for application in self._catalogue.applications.values():
            yield from (task_name(application, task.id) for task in application.tasks)
        yield from self._catalogue.modules

    def __len__(self) -> int:
        """How many there are of both."""
        return sum(1 for _ in self)


def load_catalogue(bitstreams: Path, added: Path | None = None) -> Catalogue:
    """The catalogue of a `bitstreams/` directory: `<module>/manifest.yaml`, `applications/*.yaml`, and their constants.

    Raises:
        InvalidRequest: A manifest or a package is wrong; the message names the file.
    """
    modules = {path.parent.name: load_module_manifest(path) for path in sorted(bitstreams.glob("*/manifest.yaml"))}
    applications: dict[str, Application] = {}
    constants: dict[tuple[str, str], bytes] = {}
    for path in sorted((bitstreams / "applications").glob("*.yaml")):
        application = load_application(path)
        applications[application.name] = application
        shipped = load_constants(path, application)
        constants |= {(application.name, buffer): data for buffer, data in shipped.items()}
    return Catalogue(modules, applications, constants, added)
