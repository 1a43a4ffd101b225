# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Problem documents back into the errors they came from, so that a program catches the same class on both sides.

::

    EddyError
    ├── InvalidRequest, NotFound, Conflict, QuotaExceeded, Unauthorized, ...   (eddy.core.errors)
    ├── ServerUnreachable    nothing answers at the URL
    │   └── AnswerTimeout    somebody took the request, and did not answer within the time it may take
    ├── JobFailed            a job that was waited for ended in `failed` or `cancelled`
    └── WaitTimeout          the caller's patience ended before the job did
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from eddy.core import errors as core


class ServerUnreachable(core.EddyError):
    """Nothing answers at the URL, also after the retries."""

    code = "server-unreachable"


class AnswerTimeout(ServerUnreachable):
    """The server took the request and did not answer it in time; `details` has `url` and `timeout_s`."""

    code = "answer-timeout"


class JobFailed(core.EddyError):
    """The job ended, and not in `succeeded`; `details` has `job`, `state` and `cause`."""

    code = "job-failed"


class WaitTimeout(core.EddyError):
    """The job did not end within the time the caller gave; it goes on."""

    code = "wait-timeout"


def _tree(base: type[core.EddyError]) -> Iterator[type[core.EddyError]]:
    yield base
    for below in base.__subclasses__():
        yield from _tree(below)


_CLASSES = {kind.code: kind for kind in _tree(core.EddyError) if kind.__module__ == core.__name__}


class ApiError(core.EddyError):
    """An answer whose code has no class of its own; `code` on the instance is the answer's."""

    code = "api-error"


def from_problem(status: int, problem: Mapping[str, Any]) -> core.EddyError:
    """Build the error a problem document describes; `details` keeps the whole document and `status`."""
    code = str(problem.get("code", "api-error"))
    message = str(problem.get("detail") or problem.get("title") or f"the server answered {status}")
    details = {key: value for key, value in problem.items() if key != "detail"}
    error = _CLASSES.get(code, ApiError)(message, **{**details, "status": status})
    if error.code != code:
        error.code = code  # type: ignore[misc]  # an unknown code is the answer's own, not the class's
    return error
