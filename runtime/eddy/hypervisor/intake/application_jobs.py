# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Application jobs: a packaged graph of tasks over a batch of items, each with buffers of its own; and what a request
must be to become one: every check before anything is kept, each naming its field."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field

from eddy.board.port.port import BoardEvent, Launch
from eddy.core.applications import GIVEN, RETURNED, Application, BufferRole, BufferSpec
from eddy.core.errors import InvalidRequest, NotFound
from eddy.core.fusion import list_forms, select_form
from eddy.core.jobs import PRIORITIES
from eddy.core.records import APPLICATION, JobRecord, JobRequest
from eddy.core.units import format_bytes
from eddy.hypervisor.jobs import messages as m
from eddy.hypervisor.jobs.buffers import EVERY_ITEM, Content, Pieces
from eddy.hypervisor.jobs.job_spec import StreamsOfForms, expected_slot_s
from eddy.hypervisor.jobs.work import BoardOffer, Fetch, JobMemory
from eddy.packages.modules import ModuleManifest, no_check
from eddy.packages.streams import streamed_edges
from eddy.store import Store
from eddy.store.bytes.blob_file import BlobFile
from eddy.store.db.rows import StoredJob
from eddy.store.job_tables.submissions import Submission


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
        usable: Modules that every task may run on, as the board's offer was last told: of these nothing more is asked.
    """

    applications: Mapping[str, Application]
    modules: Mapping[str, ModuleManifest]
    constants: Mapping[tuple[str, str], bytes]
    available: Collection[str] = field(default_factory=frozenset)
    unchecked: Collection[str] = field(default_factory=frozenset)
    why: Callable[[str], str] = no_check
    usable: frozenset[str] = field(init=False)

    def __post_init__(self) -> None:
        self.set_offer(self.available, self.unchecked, self.why)

    def set_offer(self, available: Collection[str], unchecked: Collection[str], why: Callable[[str], str]) -> None:
        """Take note of what the board has for jobs; see the attributes."""
        self.available, self.unchecked, self.why = available, unchecked, why
        known = (name for name in available if name in self.modules and name not in unchecked)
        self.usable = frozenset(name for name in known if not self.modules[name].endless)

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
            if task.module in self.usable:
                continue
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
            allowed = sorted(name for name, each in list(self.applications.items()) if not self.runnable(each))
            raise InvalidRequest(
                f"{application.name} cannot run on this board: {reason}", field="application", allowed=allowed
            )
        return application

    def _inputs(self, request: JobRequest, application: Application, store: Store) -> None:
        inputs = {spec.name: spec for spec in application.buffers if spec.role in GIVEN}
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


Constants = Mapping[tuple[str, str], bytes]
"""What packages ship for constant buffers, by (application, buffer)."""


@dataclass(frozen=True, slots=True)
class ApplicationWork:
    """A batch through an application; see `Work`.

    Items share nothing: what is committed of an item stands, whatever becomes of the others.

    Attributes:
        modules: Manifests by name.
        streams: Edges that may go from slot to slot on its board, by form.
    """

    application: Application
    request: JobRequest
    modules: Mapping[str, ModuleManifest]
    constants: Constants
    streams: StreamsOfForms = ()

    def submission(self) -> Submission:
        """The request is all there is to keep."""
        return Submission(self.request, slot_s=expected_slot_s(self.application, self.request.batch))

    def spec(self, record: JobRecord) -> m.JobSpec:
        """In the `pipeline` pool; every item leaves outputs, where the application has any."""
        collects = m.OutputCollection.EVERY_ITEM if self._outputs() else m.OutputCollection.NONE
        return m.JobSpec.of(record, self.application, collects=collects, streams=self.streams)

    def contents(self, fetch: Fetch) -> Content:
        """Inputs and constants, a piece in memory at a time; everything else is zero."""
        whole: dict[str, BlobFile] = {}

        def content(spec: BufferSpec, item: int) -> Pieces:
            if spec.role is BufferRole.CONSTANT and item == EVERY_ITEM:
                return self._constant(spec, fetch)
            if spec.role not in GIVEN:
                return ()
            hashes = self.request.inputs[spec.name]
            if len(hashes) == self.request.batch:
                return fetch(hashes[item]).read_verified()
            if spec.name not in whole:
                whole[spec.name] = fetch(hashes[0]).verify()
            return whole[spec.name].pieces(item * spec.bytes, spec.bytes)

        return content

    def _constant(self, spec: BufferSpec, fetch: Fetch) -> Pieces:
        sha256 = self.request.constants.get(spec.name)
        if sha256 is not None:
            return fetch(sha256).read_verified()
        return [(0, self.constants[self.application.name, spec.name])]

    def launch(self, memory: JobMemory, launch: m.LaunchItem) -> Launch:
        """Addresses and scalars in registers, grants for exactly the buffers the task names."""
        return memory.launch(select_form(self.application, launch.form), launch, self.modules)

    def outputs(self, memory: JobMemory, item: int) -> Iterable[tuple[str, bytes]]:
        """Its output buffers."""
        return ((name, memory.read(name, item)) for name in self._outputs())

    def _outputs(self) -> list[str]:
        return [each.name for each in self.application.buffers if each.role in RETURNED]

    def log(self, memory: JobMemory) -> bytes:
        """Modules print nothing."""
        return b""

    def explain(self, event: BoardEvent, module: str) -> str:
        """The board says all there is."""
        return ""


class ApplicationJobs:
    """Makes works of requests for packaged applications; see `JobKind`."""

    kind = APPLICATION
    prepares_quickly = True

    def __init__(self, admission: Admission) -> None:
        self._admission = admission
        self._streams = False

    def set_offer(self, offer: BoardOffer) -> None:
        """Its modules are those of the `pipeline` pool."""
        self._admission.set_offer(offer.pipeline, offer.unchecked, offer.why)
        self._streams = offer.streams

    def prepare(self, request: JobRequest, store: Store) -> ApplicationWork:
        """Check a request.

        Raises:
            InvalidRequest: A field is wrong; `details` has `field` and `allowed`.
        """
        return self._work(self._admission.check(request, store), request)

    def restore(self, stored: StoredJob, store: Store) -> ApplicationWork:
        """The work of a job whose application is still there.

        Raises:
            NotFound: It is not, or its modules are not.
        """
        application = self._admission.applications.get(stored.record.application)
        reason = "it is not installed any more" if application is None else self._admission.runnable(application)
        if application is None or reason:
            raise NotFound(reason, field="application")
        return self._work(application, stored.request)

    def _work(self, application: Application, request: JobRequest) -> ApplicationWork:
        modules, forms = self._admission.modules, list_forms(application) if self._streams else ()
        found = ((form.form, streamed_edges(form, modules)) for form in forms)
        streams = tuple((form, edges) for form, edges in found if edges)
        return ApplicationWork(application, request, modules, self._admission.constants, streams)
