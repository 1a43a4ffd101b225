# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What the log, the job and the machine are told of an error that a call raised."""

from __future__ import annotations

import logging

from eddy.board.port.port import Cause
from eddy.core.errors import Conflict, EddyError, StorageFailed
from eddy.hypervisor.jobs import messages as m
from eddy.hypervisor.machine.machine import Machine
from eddy.store.disk.files import DamagedFile

_log = logging.getLogger(__name__)


def explain(error: Exception, doing: str) -> tuple[str, str]:
    """The code and the sentence an error is booked under; one that nobody foresaw goes to the log with its traceback.

    Args:
        error: Any error but `BoardUnreachable`.
        doing: What was being done.
    """
    if isinstance(error, DamagedFile):
        _log.error("%s (%s)", error.message, error.path, extra={"code": error.code, "path": str(error.path)})
    if isinstance(error, StorageFailed):  # where the data lies is no tenant's matter
        _log.error("storage, in %s: %s", doing, error.message, extra={"code": error.code})
        return error.code, "the server cannot read or keep its data; its log has the cause"
    if isinstance(error, EddyError):
        return error.code, error.message
    _log.error("unforeseen error in %s", doing, exc_info=error)
    return Cause.INTERNAL_ERROR.value, internal_error_message(error)


def internal_error_message(error: Exception) -> str:
    """What a tenant is told of an error that nobody foresaw: no path, and no key that something was looked up by, which
    may be our number of a job."""
    kind = type(error).__name__
    if isinstance(error, LookupError):
        return f"{kind}; the server's log has the cause"
    return f"{kind}: {error.strerror if isinstance(error, OSError) else error}"


def cause_of(error: Exception) -> Cause:
    """The cause an item ends with: the board's own, where the error names one."""
    if not isinstance(error, EddyError):
        return Cause.INTERNAL_ERROR
    try:
        return Cause(error.details.get("cause", ""))
    except ValueError:
        return Cause.CONTROL_REFUSED


def launch_failure(command: m.LaunchItem, error: Exception, now_s: float, why: str) -> m.ItemEnded | m.SliceEnded:
    """What the machine is told of a launch that raised an error; the slot may have closed under a slice."""
    if isinstance(command, m.LaunchSlice):
        bounced = isinstance(error, Conflict)
        ended = command.slot, command.job, command.core, now_s, now_s
        return m.SliceEnded(*ended, cause_of(error), why, bounced=bounced)
    return m.ItemEnded(command.slot, now_s, now_s, cause_of(error), why)


def stop_failure(
    command: m.StopItem, machine: Machine, cause: Cause, now_s: float, why: str
) -> m.ItemEnded | m.SliceEnded:
    """What the machine is told of a stop that raised an error: what was to be stopped is over for it."""
    found = machine.clusters.find_slice(command.slot, command.item) if machine.clusters is not None else None
    if found is not None:
        return m.SliceEnded(command.slot, found.job, found.core, now_s, now_s, cause, why)
    return m.ItemEnded(command.slot, now_s, now_s, cause, why)
