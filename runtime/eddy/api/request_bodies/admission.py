# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The one way from a submission to a request: of single jobs, dry runs and arrays, at a board and at a head of a pool.

A rule about what a job may ask for belongs here; what a board or its store has to know is asked further in, by
`eddy.hypervisor.intake`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Protocol

from eddy.api.request_bodies.jobs import JobSubmission
from eddy.api.request_bodies.kinds import KindView
from eddy.core.board_constraints import label_rules
from eddy.core.errors import InvalidRequest
from eddy.core.jobs import PRIORITIES
from eddy.core.names import label_name
from eddy.core.records import JobRequest
from eddy.core.submission_options import Predecessor, SubmissionOptions


class Submitter(Protocol):
    """Who submits, and what their jobs may ask for."""

    @property
    def id(self) -> str:
        """Name of the tenant."""

    @property
    def max_priority(self) -> int:
        """Highest priority of its jobs."""

    def check_progress(self, wanted: float) -> None:
        """Check that a kernel of theirs may ask for a progress beside others.

        Raises:
            InvalidRequest: They were promised less.
            Conflict: Progress is not measured here.
        """

    def check_boards(self, asked: SubmissionOptions) -> None:
        """Check that a job of theirs may ask for such boards.

        Raises:
            InvalidRequest: This is a board alone, and not such a one.
        """


def admit(
    submission: JobSubmission,
    by: Submitter,
    kinds: Mapping[str, KindView],
    after: Iterable[Predecessor] = (),
    idempotency_key: str = "",
    max_running: int | None = None,
) -> JobRequest:
    """Make a request of a submission. A tenant that may use the lowest priority alone has it, whatever it asks for.

    Args:
        submission: As it came in.
        by: Who sent it.
        kinds: Kinds of jobs that are taken, by name.
        after: What it waits for, by the ids that jobs have inside.
        idempotency_key: Names the submission; "" for none.
        max_running: Of an array: jobs of it that are ready or run at once, at most.

    Raises:
        InvalidRequest: It asks for several things or none, for what does not go together, or for more than they may.
        Conflict: It asks for what is not there.
    """
    view = submission.check_kind(kinds)
    request = submission.request(by.id, view, tuple(after), idempotency_key, max_running)
    lowest = PRIORITIES[0]
    if request.priority > by.max_priority > lowest:
        allowed = [each for each in PRIORITIES if each <= by.max_priority]
        message = f"Your jobs may have a priority of at most {by.max_priority}; ask the operator for more."
        raise InvalidRequest(message, field="priority", asked=request.priority, allowed=allowed)
    if request.asked.ends_late and request.deadline_s is None:
        message = "late: a job can only be late that has a deadline; give it a deadline_s."
        raise InvalidRequest(message, field="late", allowed=["continue"])
    if request.asked.min_progress is not None:
        by.check_progress(request.asked.min_progress)
    _check_boards(request.asked)
    by.check_boards(request.asked)
    # Whose jobs all have one priority says nothing by asking for another: programs that set priorities run here, too.
    return request if by.max_priority > lowest else replace(request, priority=lowest)


def _check_boards(asked: SubmissionOptions) -> None:
    """See that what is asked of boards can be read.

    Raises:
        InvalidRequest: It cannot.
    """
    for field, read in (("board_labels", label_rules), ("apart", label_name)):
        if (text := getattr(asked, field)) is not None:
            try:
                read(text)
            except ValueError as wrong:
                raise InvalidRequest(f"{field}: it {wrong}.", field=field, asked=text) from None
