# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The work of a job: one protocol for every kind of job.

The state machine knows tasks, items and slots. The engine knows the board and the store. A job's *work* is between
them: the initial contents of its memory, the launch of an item, and the outputs. A *kind* of job turns requests into
works. The engine uses only these two protocols and does not know which kind a job is. Another kind is another pair of
classes, passed to the engine.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from eddy.board.port.port import BoardEvent, Buffer, Launch
from eddy.core.applications import Application
from eddy.core.records import JobRecord, JobRequest
from eddy.hypervisor.jobs import messages as m
from eddy.hypervisor.jobs.buffers import EVERY_ITEM, Content, JobBuffers
from eddy.packages.modules import ModuleManifest, no_check
from eddy.store import Store
from eddy.store.bytes.blob_file import BlobFile
from eddy.store.db.rows import StoredJob
from eddy.store.job_tables.submissions import Submission

Fetch = Callable[[str], BlobFile]
"""Gives a blob of the job's tenant, by its SHA-256."""


@dataclass(frozen=True, slots=True)
class BoardOffer:
    """What a board has for jobs.

    Attributes:
        pipeline: Modules with an image for some slot of the `pipeline` pool.
        gpu: Modules with an image for some slot of the `gpu` pool.
        gpu_slots: For how many slots of it, by module.
        unchecked: Modules that it has images of, whose builds have no check on record: no job is given them.
        why: Why no job is given one of these; "" where its check is on record by now, and it was let in.
    """

    arena_bytes: int = 0
    pipeline: frozenset[str] = frozenset()
    gpu: frozenset[str] = frozenset()
    gpu_slots: Mapping[str, int] = field(default_factory=dict)
    unchecked: frozenset[str] = frozenset()
    why: Callable[[str], str] = no_check


class JobMemory:
    """The buffers of one job."""

    def __init__(self, buffers: JobBuffers, job: int) -> None:
        self._buffers, self._job = buffers, job

    def holds(self, name: str) -> bool:
        """Whether it has the buffer of that name that every item shares."""
        return self._buffers.holds(self._job, name)

    def find(self, name: str, item: int = EVERY_ITEM) -> Buffer:
        """The buffer of that name: the item's, or the one that every item shares."""
        return self._buffers.find(self._job, name, item)

    def read(self, name: str, item: int = EVERY_ITEM, offset: int = 0, size: int | None = None) -> bytes:
        """The bytes of a buffer, or `size` of them from `offset` on."""
        return self._buffers.read(self._job, name, item, offset, size)

    def write(self, name: str, offset: int, data: bytes) -> None:
        """Put bytes into the buffer of that name that every item shares."""
        self._buffers.write(self._job, name, offset, data)

    def launch(self, application: Application, launch: m.LaunchItem, manifests: Mapping[str, ModuleManifest]) -> Launch:
        """The launch of an item whose task's arguments name buffers and scalars."""
        return self._buffers.launch(self._job, application, launch.task, launch.item, manifests)


class BoardWork(Protocol):
    """What one job has the board do, be there a record of it or not."""

    def contents(self, fetch: Fetch) -> Content:
        """What its buffers hold at first."""

    def launch(self, memory: JobMemory, launch: m.LaunchItem) -> Launch:
        """What the board is told of an item; what the item needs in memory is put there."""

    def outputs(self, memory: JobMemory, item: int) -> Iterable[tuple[str, bytes]]:
        """What an item leaves, by name, read once every task is done with it."""

    def log(self, memory: JobMemory) -> bytes:
        """What the job has printed, once it has ended; b"" for nothing."""

    def explain(self, event: BoardEvent, module: str) -> str:
        """Why an item failed, in words; "" where the board's own words are all there is."""


class Work(BoardWork, Protocol):
    """What one job has the board do that the store keeps."""

    @property
    def application(self) -> Application:
        """The job as the state machine sees it: its tasks, and the buffers it needs."""

    def submission(self) -> Submission:
        """The job as the store keeps it."""

    def spec(self, record: JobRecord) -> m.JobSpec:
        """The job as it goes into the state machine: which pool, and what survives the loss of a board."""


class JobKind(Protocol):
    """A kind of jobs: makes works of requests.

    Attributes:
        kind: What requests of this kind say they are (`JobRequest.kind`).
    """

    @property
    def kind(self) -> str:
        """What requests of this kind say they are."""

    @property
    def prepares_quickly(self) -> bool:
        """Whether `prepare` takes no time to speak of; it is then called within the transaction that keeps the job."""

    def set_offer(self, offer: BoardOffer) -> None:
        """Take note of what the board has; before anything else is asked."""

    def prepare(self, request: JobRequest, store: Store) -> Work:
        """Check a request and make its work; nothing is kept.

        Raises:
            EddyError: It cannot be accepted; the sentence says why.
        """

    def restore(self, stored: StoredJob, store: Store) -> Work:
        """The work of a job that was accepted in an earlier life.

        Raises:
            EddyError: It cannot run any more; the sentence says why.
        """
