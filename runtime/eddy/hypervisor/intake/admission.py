# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What a request must be to become a job: every check before anything is kept, each naming its field."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field

from eddy.core.applications import Application, BufferRole, BufferSpec
from eddy.core.errors import InvalidRequest
from eddy.core.jobs import PRIORITIES
from eddy.core.records import JobRequest
from eddy.core.units import format_bytes
from eddy.packages.modules import ModuleManifest, no_check
from eddy.store import Store


@dataclass(slots=True)
class Admission:
    """Checks requests against what this hypervisor offers.

    Attributes:
        applications: By name.
        modules: Manifests by name.
        constants: What packages ship for constant buffers, by (application, buffer).
        available: Modules with an image for some slot of the `pipeline` pool.
        unchecked: Modules that no job is given, because their builds have no check on record.
        why: Why not, as it is when it is asked; "" where one was let in meanwhile.
    """

    applications: Mapping[str, Application]
    modules: Mapping[str, ModuleManifest]
    constants: Mapping[tuple[str, str], bytes]
    available: Collection[str] = field(default_factory=frozenset)
    unchecked: Collection[str] = field(default_factory=frozenset)
    why: Callable[[str], str] = no_check

    def check(self, request: JobRequest, store: Store) -> Application:
        """Check a request; answers its application.

        Raises:
            InvalidRequest: A field is wrong; `details` has `field` and `allowed`.
        """
        application = self._application(request)
        _one_of(request.priority, "priority", PRIORITIES)
        _batch(request.batch, application)
        _deadline(request.deadline_s)
        self._inputs(request, application, store)
        self._constants(request, application, store)
        return application

    def check_kernel(self, request: JobRequest, store: Store) -> None:
        """Check what a kernel job has like any other; the kernel itself is checked by `KernelPlanner.prepare`.

        Raises:
            InvalidRequest: A field is wrong.
            QuotaExceeded: The tenant has as many jobs as it may: nothing is compiled for it.
        """
        _one_of(request.priority, "priority", PRIORITIES)
        _deadline(request.deadline_s)
        for name in ("application", "inputs", "constants"):
            if getattr(request, name):
                raise InvalidRequest(
                    f"A kernel job takes no {name}; its arguments say all.", field=name, allowed="none"
                )
        store.submissions.checks.check_quota(request.tenant, 0)

    def runnable(self, application: Application) -> str:
        """Why an application cannot run on this board; "" where it can."""
        for task in application.tasks:
            if task.module not in self.modules:
                return f"module {task.module} of task {task.name} has no manifest"
            if self.modules[task.module].endless:
                return self.modules[task.module].endless
            refused = self.why(task.module) if task.module in self.unchecked else ""
            if refused:
                return refused
            if task.module not in self.available:
                return f"there is no bitstream of module {task.module} for a slot of the pipeline pool"
        return ""

    def _application(self, request: JobRequest) -> Application:
        application = self.applications.get(request.application)
        if application is None:
            _one_of(request.application, "application", sorted(self.applications))
        assert application is not None
        reason = self.runnable(application)
        if reason:
            allowed = sorted(name for name, each in self.applications.items() if not self.runnable(each))
            raise InvalidRequest(
                f"{application.name} cannot run on this board: {reason}", field="application", allowed=allowed
            )
        return application

    def _inputs(self, request: JobRequest, application: Application, store: Store) -> None:
        inputs = {spec.name: spec for spec in application.buffers if spec.role.is_given}
        _known(request.inputs, "inputs", inputs)
        for name, spec in inputs.items():
            hashes = request.inputs.get(name, ())
            place = f"inputs.{name}"
            if not hashes:
                shape = ", ".join(str(length) for length in spec.shape)
                raise InvalidRequest(
                    f"the input '{name}' is missing; {application.name} takes {spec.dtype}[{shape}] an item of it",
                    field=place,
                )
            if len(hashes) not in (1, request.batch):
                raise InvalidRequest(
                    f"{place} names {len(hashes)} blobs; a batch of {request.batch} takes {request.batch} of"
                    f" {format_bytes(spec.bytes)}, or one of {format_bytes(spec.bytes * request.batch)}",
                    field=place,
                    allowed=sorted({1, request.batch}),
                )
            size = spec.bytes * request.batch // len(hashes)
            for number, sha256 in enumerate(hashes):
                _blob(store, request.tenant, sha256, size, f"{place}[{number}]", spec)

    def _constants(self, request: JobRequest, application: Application, store: Store) -> None:
        constants = {spec.name: spec for spec in application.buffers if spec.role is BufferRole.CONSTANT}
        _known(request.constants, "constants", constants)
        for name, spec in constants.items():
            place = f"constants.{name}"
            if name in request.constants:
                _blob(store, request.tenant, request.constants[name], spec.bytes, place, spec)
            elif (application.name, name) not in self.constants:
                raise InvalidRequest(
                    f"{place} is missing, and the application brings no bytes for it: upload {format_bytes(spec.bytes)}"
                    f" as a blob and give its sha256 (`eddy submit ... --input {name}=FILE` does both)",
                    field=place,
                    allowed="sha256 of a blob",
                )


def _batch(batch: int, application: Application) -> None:
    if isinstance(batch, bool) or not isinstance(batch, int) or not 1 <= batch <= application.max_batch:
        raise InvalidRequest(
            f"batch is {batch!r}; {application.name} takes 1 to {application.max_batch} items",
            field="batch",
            allowed=f"1..{application.max_batch}",
        )


def _deadline(deadline_s: float | None) -> None:
    if deadline_s is not None and not (math.isfinite(deadline_s) and deadline_s > 0):
        raise InvalidRequest(
            f"deadline_s is {deadline_s!r}; it is a positive number of board seconds after arrival, or none",
            field="deadline_s",
            allowed="> 0",
        )


def _one_of(value: object, field_name: str, allowed: Collection[object]) -> None:
    if value not in allowed or isinstance(value, bool):
        raise InvalidRequest(
            f"{field_name} is {value!r}; allowed: {', '.join(map(str, allowed)) or 'none'}",
            field=field_name,
            allowed=list(allowed),
        )


def _known(given: Mapping[str, object], field_name: str, known: Mapping[str, BufferSpec]) -> None:
    for name in given:
        if name not in known:
            raise InvalidRequest(
                f"{field_name}.{name}: no such buffer; there are: {', '.join(known) or 'none'}",
                field=f"{field_name}.{name}",
                allowed=list(known),
            )


def _blob(store: Store, tenant: str, sha256: str, size: int, place: str, spec: BufferSpec) -> None:
    """Check that a blob is there and has the size its buffer takes."""
    actual = store.blobs.size_bytes(tenant, sha256)
    if actual is None:
        raise InvalidRequest(
            f"{place}: no blob {sha256[:64]} of yours; upload it first, then submit",
            field=place,
            allowed="sha256 of an uploaded blob",
        )
    if actual != size:
        raise InvalidRequest(
            f"{place}: the blob has {format_bytes(actual)}; {spec.name} ({spec.dtype}, {list(spec.shape)}) takes"
            f" {format_bytes(size)}",
            field=place,
            allowed=size,
        )
