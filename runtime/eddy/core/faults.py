# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What goes wrong in daily use, each kind with a code: what metrics, the dashboard and `eddy top` count.

docs/reference/faults.md says of each what becomes of it.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping


class Fault(str, enum.Enum):
    """A kind of fault; the value is its code."""

    HUNG_MODULE = "hung-module"
    MODULE_FAULT = "module-fault"
    FAILED_LOAD = "failed-load"
    QUARANTINE = "slot-quarantined"
    FIREWALL_TRIP = "firewall-trip"
    FULL_DISK = "full-disk"
    STORAGE = "storage-failed"
    DAMAGED_FILE = "damaged-file"
    SLOW_CLIENT = "slow-client"
    BROKEN_UPLOAD = "broken-upload"
    CLOCK_JUMP = "clock-jump"
    BOARD_AWAY = "board-away"
    BOARD_RESTART = "board-restarted"
    SERVER_DEATH = "server-died"


OF_CAUSE: Mapping[str, Fault | None] = {
    "time-limit": Fault.HUNG_MODULE,
    "read-outside-window": Fault.FIREWALL_TRIP,
    "write-outside-window": Fault.FIREWALL_TRIP,
    "illegal-burst": Fault.FIREWALL_TRIP,
    "stopped": None,
    "stream-lost": None,
    "board-restarted": None,
}
"""What an item's cause is a fault of; None for none, and every other cause is `Fault.MODULE_FAULT`."""


def fault_from_cause(cause: str) -> Fault | None:
    """The fault that an item ended by, by its cause (`eddy.board.port.port.Cause`)."""
    return OF_CAUSE.get(cause, Fault.MODULE_FAULT)
