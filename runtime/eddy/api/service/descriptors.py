# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""How many connections the system's bound on open files has room for.

Where a process has no descriptor left, asyncio (of Python 3.10 to 3.12) tries to accept again and again, and writes an
error each time: tens of thousands of lines a second, while nobody is served. So the bound is raised as far as the
system allows, and connections are bounded so that it is not reached.
"""

from __future__ import annotations

import dataclasses
import logging
import resource

from eddy.api.http.connections import ConnectionLimits
from eddy.core.errors import InvalidRequest

AT_ONCE = 100
"""Most connections that are accepted in one turn of the loop."""
COMING = 3 * AT_ONCE
"""Most that are accepted before the first of them, where it is one too many, is closed: three turns later."""
OWN = 96
"""Files a server has open itself: the data base for each thread that reads, the board, the log."""
MIN_CONNECTIONS = 16
"""Connections below which there is no serving anybody."""
_log = logging.getLogger(__name__)


def fit_connection_limits(limits: ConnectionLimits) -> ConnectionLimits:
    """Bounds on connections that the bound on open files has room for: each may send or fill a file, too.

    Args:
        limits: As they are asked for.

    Raises:
        InvalidRequest: There is no room for `MIN_CONNECTIONS`.
    """
    wanted = OWN + COMING + 2 * limits.connections
    files = _raised(wanted)
    if files >= wanted:
        return limits
    fit = (files - OWN - COMING) // 2
    if fit < MIN_CONNECTIONS:
        needed = OWN + COMING + 2 * MIN_CONNECTIONS
        message = (
            f"This process may have {files} files open, and a server needs {needed}: raise the bound (`ulimit -n`, or"
            " LimitNOFILE= of a systemd unit)."
        )
        raise InvalidRequest(message, asked=files, allowed=f"at least {needed}")
    _log.warning("%d files may be open, which is room for %d connections, not %d", files, fit, limits.connections)
    return dataclasses.replace(limits, connections=fit, connections_per_client=min(fit, limits.connections_per_client))


def _raised(wanted: int) -> int:
    """The bound on open files, raised to what is wanted, as far as that is allowed."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY:
        return wanted
    most = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    if most > soft:
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
            return most
        except (OSError, ValueError):  # macOS has a further bound of its own
            pass
    return soft
