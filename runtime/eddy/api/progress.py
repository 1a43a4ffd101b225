"""Progress of tenants beside others, as a server is set up to measure it, and as an operator promises it."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from pathlib import Path

from eddy.board.port import BoardPort
from eddy.core.errors import EddyError, NotFound
from eddy.hypervisor import calibration
from eddy.hypervisor.progress_watch import ProgressWatch
from eddy.hypervisor.tenant_estimates import ClusterKind
from eddy.store import Store

_log = logging.getLogger(__name__)
UNCALIBRATED = "run `eddy calibrate` for this board, and start the server again"
"""What to do where progress is not measured."""


def watch_for(board: BoardPort, kinds: Mapping[str, ClusterKind], path: Path, needed: bool) -> ProgressWatch:
    """What reads progress, as far as the board's memory was calibrated.

    Args:
        board: The board.
        kinds: Its clusters.
        path: Of the calibration.
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


def least_of(store: Store, tenant: str) -> float:
    """Normalised progress a tenant was promised: its attribute `min_progress`, 0 where none will do."""
    try:
        least = float(store.tenant(tenant).attributes.get("min_progress", 0.0))
    except (NotFound, TypeError, ValueError):
        return 0.0
    return least if 0 <= least <= 1 else 0.0
