"""The asynchronous shell of the hypervisor."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping

from eddy.board.manifest import ModuleManifest
from eddy.board.port import BoardPort
from eddy.core.applications import Application
from eddy.core.records import JobEvent, JobRecord, JobRequest, SlotStatus
from eddy.policy.dispatch.view import DispatchPolicy
from eddy.store import Store


class Hypervisor:
    """Runs jobs on one board.

    Args:
        board: The board; every call to it is made from one worker thread.
        policy: Who gets which slot.
        store: Jobs, events, blobs and results.
        applications: By name; may be added to while it runs.
        modules: Manifests by module name.
        constants: Bytes the packages ship for constant buffers, by (application, buffer).
    """

    def __init__(
        self,
        board: BoardPort,
        policy: DispatchPolicy,
        store: Store,
        applications: Mapping[str, Application],
        modules: Mapping[str, ModuleManifest],
        constants: Mapping[tuple[str, str], bytes] | None = None,
    ) -> None:
        raise NotImplementedError

    async def run(self) -> None:
        """Run until cancelled: take up what the store and the board hold, then serve submissions."""
        raise NotImplementedError

    async def submit(self, request: JobRequest) -> JobRecord:
        """Accept a job; it is durable when this returns.

        Raises:
            InvalidRequest: A field is wrong; `details` has `field` and `allowed`.
            Conflict: The idempotency key was used for another request.
            QuotaExceeded: The tenant has too many jobs that have not ended.
        """
        raise NotImplementedError

    async def cancel(self, tenant: str, job: int) -> JobRecord:
        """Ask for a job's end; answers at once, the job reaches `cancelled` when its slots are given back.

        Raises:
            NotFound: No such job of this tenant.
            Conflict: It has ended already in another state.
        """
        raise NotImplementedError

    def slots(self) -> tuple[SlotStatus, ...]:
        """What every slot does now."""
        raise NotImplementedError

    def now_s(self) -> float:
        """Board time as last seen."""
        raise NotImplementedError

    def follow(self, tenant: str, job: int, after: int = 0) -> AsyncIterator[JobEvent]:
        """The events of a job with a sequence number above `after`, as they happen, until it has ended.

        Raises:
            NotFound: No such job of this tenant.
        """
        raise NotImplementedError
