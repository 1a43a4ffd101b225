# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Numbers of sessions and launches among the jobs of the state machine: above those of all jobs that are kept.

Both follow from what is on disk and what the client counts, so that after a restart the board's names of buffers and
slices say whose they are.
"""

from __future__ import annotations

from eddy.hypervisor.sessions.commands import MAX_NUMBER

_SESSIONS, _LAUNCHES = 1 << 61, 1 << 62
_WIDTH = MAX_NUMBER.bit_length()
MAX_SESSIONS = (1 << (62 - _WIDTH)) - 1
"""Sessions that a store counts."""


def session_job(session: int) -> int:
    """The job that a session is to the state machine, which holds its memory."""
    return _SESSIONS + session


def launch_job(session: int, command: int) -> int:
    """The job that a launch is."""
    return _LAUNCHES + (session << _WIDTH) + command


def launch_of(job: int) -> tuple[int, int] | None:
    """Session and command of a launch; None for any other job."""
    if job < _LAUNCHES:
        return None
    return (job - _LAUNCHES) >> _WIDTH, (job - _LAUNCHES) & MAX_NUMBER


def session_of(job: int) -> int | None:
    """The session that a job is; None for any other."""
    return job - _SESSIONS if _SESSIONS < job < _LAUNCHES else None
