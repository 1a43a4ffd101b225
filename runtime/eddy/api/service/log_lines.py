# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The log of a process that serves HTTP: on standard error, whoever writes to it.

As structlog begins it writes to standard output, with the values of all local variables: into the answer of `--json`,
secrets among it, and into a pipe that nobody reads, which stops the process.
"""

from __future__ import annotations

import logging

import structlog

from eddy.host import logs


def configure(level: str, form: str) -> None:
    """Have everything that is logged written so, as `eddy.host.logs.configure` has it, structlog's records among it."""
    logs.configure(level, form)
    threshold = getattr(logging, level.upper())
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso"),
            structlog.processors.format_exc_info,
            lambda _, __, values: logs.render(values, form),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(threshold),
        logger_factory=_Lines,
    )


class _Lines:
    """A logger of structlog's whose lines go where all others go."""

    def __init__(self, *_: object) -> None: ...

    def warning(self, line: str) -> None:
        """Write a line."""
        logs.write_rendered(line)

    debug = info = error = critical = warning
