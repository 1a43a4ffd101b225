# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Progress of tenants beside others, as a server is set up to measure it, and as an operator promises it."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from pathlib import Path

from eddy.api.answers.schemas import JobSlowdown
from eddy.board.port.port import BoardPort
from eddy.core.errors import Conflict, EddyError, InvalidRequest, NotFound, RecordDamaged
from eddy.core.records import JobRecord
from eddy.hypervisor.cores import calibration
from eddy.hypervisor.cores.market_loop import PriceLoop
from eddy.hypervisor.cores.progress_report import progress_of_job
from eddy.hypervisor.cores.progress_watch import ProgressWatch
from eddy.hypervisor.cores.tenant_estimates import ClusterKind
from eddy.store import Store

_log = logging.getLogger(__name__)
UNCALIBRATED = "run `eddy calibrate` for this board, and start the server again"
"""What to do where progress is not measured."""


def watch_for(board: BoardPort, kinds: Mapping[str, ClusterKind], path: Path, needed: bool) -> ProgressWatch:
    """What reads progress, as far as the board's memory was calibrated.

    Args:
        needed: Whether it is an error that there is none, or a stale one; else that is logged, and nothing is read.

    Raises:
        NotFound, InvalidRequest, Conflict: There is none that will do, and it is needed.
    """
    try:
        found = calibration.load(path)
        found.check(board.describe().profile, calibration.hardware_now(board, kinds))
    except EddyError as wrong:
        if needed:
            raise
        if not isinstance(wrong, NotFound):
            _log.warning("progress is not measured: %s", wrong.message)
        return ProgressWatch()
    return ProgressWatch({module: found.machine(kind) for module, kind in kinds.items()})


def promised_progress(store: Store, tenant: str) -> float:
    """Normalised progress a tenant was promised: its attribute `min_progress`, 0 where none will do."""
    try:
        least = float(store.tenants.get(tenant).attributes.get("min_progress", 0.0))
    except (NotFound, RecordDamaged, TypeError, ValueError):
        return 0.0
    return least if 0 <= least <= 1 else 0.0


def check_promise(store: Store, tenant: str, wanted: float) -> None:
    """Check that a tenant may be promised a progress beside what others were.

    Kernels that cores bound progress with their part of the cores, so promises of more than 1 together could not
    be kept for them.

    Raises:
        Conflict: Too much was promised to others.
    """
    others = sum(promised_progress(store, record.id) for record in store.tenants.all() if record.id != tenant)
    if wanted + others > 1 + 1e-9:
        left = max(1 - others, 0.0)
        message = (
            f"Others were promised {others:g} together, and kernels that need cores alone cannot all be kept at more "
            f"than 1; promise up to {left:g}, or less to others."
        )
        raise Conflict(message, field="min_progress", asked=wanted, allowed=f"up to {left:g}")


def check_promised_progress(store: Store, loop: PriceLoop | None, tenant: str, asked: float) -> None:
    """Check that a kernel may ask for a progress.

    Raises:
        InvalidRequest: Its tenant was promised less.
        Conflict: Progress is not measured on this board.
    """
    if loop is None or not loop.watch.machines:
        why = "Kernels get whole clusters here" if loop is None else "Progress is not measured here"
        raise Conflict(f"{why}, so that min_progress means nothing: {UNCALIBRATED}.", field="min_progress")
    promised = promised_progress(store, tenant)
    if asked > promised:
        message = f"Your tenant was promised a progress of {promised:g}; ask the operator for more."
        raise InvalidRequest(message, field="min_progress", asked=asked, allowed=f"up to {promised:g}")


def measure_slowdown(store: Store, loop: PriceLoop | None, record: JobRecord) -> JobSlowdown | None:
    """How far others slowed a job down; None where nothing is known of it."""
    if loop is None or record.kernel is None or record.started_s is None:
        return None
    asked = record.asked.min_progress
    least = promised_progress(store, record.tenant) if asked is None else asked
    _, epochs = loop.snapshot_epochs()
    found = progress_of_job(epochs, record.tenant, record.started_s, record.ended_s, least)
    return None if found is None else JobSlowdown.model_validate(found)
