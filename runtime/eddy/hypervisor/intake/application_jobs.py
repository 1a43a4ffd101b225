# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Application jobs: a packaged graph of tasks over a batch of items, each with buffers of its own."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from eddy.board.port.port import BoardEvent, Launch
from eddy.core.applications import Application, BufferRole, BufferSpec
from eddy.core.errors import NotFound
from eddy.core.fusion import select_form
from eddy.core.records import APPLICATION, JobRecord, JobRequest
from eddy.hypervisor.intake.admission import Admission
from eddy.hypervisor.jobs import messages as m
from eddy.hypervisor.jobs.buffers import EVERY_ITEM, Content, Pieces
from eddy.hypervisor.jobs.work import BoardOffer, Fetch, JobMemory
from eddy.packages.modules import ModuleManifest
from eddy.store import Store
from eddy.store.bytes.blob_file import BlobFile
from eddy.store.db.rows import StoredJob
from eddy.store.job_tables.submissions import Submission

Constants = Mapping[tuple[str, str], bytes]
"""What packages ship for constant buffers, by (application, buffer)."""


@dataclass(frozen=True, slots=True)
class ApplicationWork:
    """A batch through an application; see `Work`.

    Items share nothing: what is committed of an item stands, whatever becomes of the others.

    Attributes:
        application: Which.
        request: What was asked for.
        modules: Manifests by name.
        constants: What packages ship.
    """

    application: Application
    request: JobRequest
    modules: Mapping[str, ModuleManifest]
    constants: Constants

    def submission(self) -> Submission:
        """The request is all there is to keep."""
        return Submission(self.request, slot_s=self.application.expected_slot_s(self.request.batch))

    def spec(self, record: JobRecord) -> m.JobSpec:
        """In the `pipeline` pool; every item leaves outputs, where the application has any."""
        collects = m.OutputCollection.EVERY_ITEM if self._outputs() else m.OutputCollection.NONE
        return m.JobSpec.of(record, self.application, collects=collects)

    def contents(self, fetch: Fetch) -> Content:
        """Inputs and constants, a piece in memory at a time; everything else is zero."""
        whole: dict[str, BlobFile] = {}

        def content(spec: BufferSpec, item: int) -> Pieces:
            if spec.role is BufferRole.CONSTANT and item == EVERY_ITEM:
                return self._constant(spec, fetch)
            if not spec.role.is_given:
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
        return [each.name for each in self.application.buffers if each.role.is_returned]

    def log(self, memory: JobMemory) -> bytes:
        """Modules print nothing."""
        return b""

    def explain(self, event: BoardEvent, module: str) -> str:
        """The board says all there is."""
        return ""


class ApplicationJobs:
    """Makes works of requests for packaged applications; see `JobKind`.

    Args:
        admission: Checks them.
    """

    kind = APPLICATION
    prepares_quickly = True

    def __init__(self, admission: Admission) -> None:
        self._admission = admission

    def set_offer(self, offer: BoardOffer) -> None:
        """Its modules are those of the `pipeline` pool."""
        self._admission.available = offer.pipeline
        self._admission.unchecked, self._admission.why = offer.unchecked, offer.why

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
        return ApplicationWork(application, request, self._admission.modules, self._admission.constants)
