# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The body that submits a job, of whatever kind, and the one way from it to a request: of single jobs, dry runs and
arrays, at a board and at a head of a pool.

A rule about what a job may ask for belongs into `admit`; what a board or its store has to know is asked further in, by
`eddy.hypervisor.intake`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any, Protocol

from pydantic import BaseModel, ConfigDict, Field, create_model, field_validator
from pydantic_core import PydanticCustomError

from eddy.api.request_bodies import examples
from eddy.api.request_bodies.base import MAX_ITEMS, Digest, Digests, Request
from eddy.api.request_bodies.kernels import KernelSubmission
from eddy.api.request_bodies.kinds import KindView
from eddy.api.request_bodies.names import Labels
from eddy.api.request_bodies.numbers import Whole
from eddy.api.request_bodies.options import with_options
from eddy.core.board_constraints import label_rules
from eddy.core.errors import InvalidRequest
from eddy.core.jobs import PRIORITIES
from eddy.core.names import label_name
from eddy.core.records import OPTIONS, REQUESTED, JobRequest
from eddy.core.submission_options import (
    ECHOED,
    ITS_OWN,
    MAX_AFTER,
    MAX_RETRIES,
    NO_RETRIES,
    NOT_ITS_FAULT,
    Condition,
    Predecessor,
    Retries,
    SubmissionOptions,
)

Ids = Annotated[list[Annotated[Whole, Field(ge=1, le=(1 << 63) - 1)]], Field(max_length=MAX_AFTER)]


class RetrySubmission(Request):
    """How often a job that failed is tried again, and after which causes."""

    max: Whole = Field(ge=1, le=MAX_RETRIES, description="Times.")
    on: list[Annotated[str, Field(json_schema_extra={"enum": [*NOT_ITS_FAULT, *ITS_OWN]})]] = Field(
        default=list(NOT_ITS_FAULT),
        min_length=1,
        max_length=len(NOT_ITS_FAULT + ITS_OWN),
        description="Causes after which it is; without this, those that it has no part in.",
    )

    @field_validator("on")
    @classmethod
    def _known(cls, causes: list[str]) -> list[str]:
        allowed = [*NOT_ITS_FAULT, *ITS_OWN]
        if not set(causes) <= set(allowed):
            raise PydanticCustomError("one_of", f"must be some of {', '.join(allowed)}", {"allowed": allowed})
        return causes

    @property
    def value(self) -> Retries:
        """As jobs have it."""
        return Retries(self.max, tuple(dict.fromkeys(self.on)))


class _JobSubmission(Request):
    """Run an application over a batch, or a kernel over an ND-range: exactly one of `application` and `kernel`."""

    model_config = ConfigDict(json_schema_extra={"examples": [examples.JOB_OF_APPLICATION, examples.JOB_OF_KERNEL]})

    application: str | None = Field(
        default=None, min_length=1, max_length=64, description="Name of the application; `GET /v1/apps` lists them."
    )
    kernel: KernelSubmission | None = Field(default=None, description="A kernel, instead of `application`.")
    batch: Whole = Field(default=1, ge=1, le=MAX_ITEMS, description="Number of items.")
    inputs: dict[str, Digests] = Field(
        default_factory=dict,
        description="Input buffer to the blobs that fill it: one for each item, or one with all items end to end.",
    )
    constants: dict[str, Digest] = Field(default_factory=dict, description="Constant buffer to its blob.")
    labels: Labels = Field(default_factory=dict, description="Name to value, for people and for `GET /v1/jobs`.")

    after: Ids = Field(
        default_factory=list,
        description="Jobs and arrays of yours that must succeed first, an array with all of its jobs; where one does"
        " not, this one fails (`dependency-failed`).",
    )
    afterany: Ids = Field(default_factory=list, description="Jobs and arrays of yours that must end first, however.")
    afternotok: Ids = Field(
        default_factory=list,
        description="Jobs and arrays of yours that must fail or be cancelled first, an array with one or more of its"
        " jobs, once all have ended; where one succeeds, this one is cancelled (`dependency-never`).",
    )
    aftercorr: Ids = Field(
        default_factory=list,
        description="For an array: other arrays of yours, with as many jobs; each job waits for the success of the one"
        " in its place, which then stands in its `after`.",
    )

    retries: RetrySubmission | None = Field(
        default=None, description="Whether it is tried again where it fails; null for not."
    )

    def check_kind(self, kinds: Mapping[str, KindView]) -> KindView:
        """Check that it asks for one thing, and for nothing that goes with another. Null is as good as left out.

        Raises:
            InvalidRequest: It asks for several or none, or has a field too many.
        """
        named = [name for name in kinds if getattr(self, name) is not None]
        if len(named) != 1:
            there = "neither" if not named else "both" if len(kinds) == 2 else "several"
            message = f"application: a job has exactly one of {' and '.join(kinds)}; this has {there}."
            raise InvalidRequest(message, field="application", allowed=f"exactly one of {', '.join(kinds)}")
        view = kinds[named[0]]
        for name in sorted(view.refuses & self.model_fields_set):
            if getattr(self, name) is not None:
                raise InvalidRequest(f"{view.title} job takes no {name}.", field=name, allowed="leave it out")
        return view

    def request(
        self,
        tenant: str,
        view: KindView,
        after: tuple[Predecessor, ...],
        idempotency_key: str = "",
        max_running: int | None = None,
    ) -> JobRequest:
        """What it asks for, unchecked; the arguments are those of `eddy.api.request_bodies.jobs.admit`, which
        is who calls this. `view` is what `check_kind` answers."""
        named = getattr(self, view.name)
        return JobRequest(
            tenant=tenant,
            application=self.application or "",
            batch=self.batch,
            inputs={name: tuple(blobs) for name, blobs in self.inputs.items()},
            constants=dict(self.constants),
            idempotency_key=idempotency_key,
            kind=view.name,
            body=named.model_dump() if isinstance(named, BaseModel) else None,
            asked=SubmissionOptions(
                labels=self.labels,
                after=after,
                max_running=max_running,
                retries=self.retries.value if self.retries is not None else NO_RETRIES,
                **{name: getattr(self, name) for name in ECHOED},
            ),
            **{name: getattr(self, name) for name in REQUESTED},
        )

    def predecessors(self, meant: Callable[[int], int]) -> tuple[Predecessor, ...]:
        """What it waits for, as it is called inside; whether an id is an array's is still to be seen."""
        if not (self.after or self.afterany or self.afternotok or self.aftercorr):
            return ()
        named = {wanted: getattr(self, wanted.value) for wanted in Condition}
        return tuple(dict.fromkeys(Predecessor(meant(each), wanted) for wanted, ids in named.items() for each in ids))


if TYPE_CHECKING:

    class JobSubmission(_JobSubmission):
        """The body, with a field for each of `OPTIONS`."""
else:
    JobSubmission = with_options(_JobSubmission, OPTIONS)


def submission_model(kinds: Mapping[str, KindView]) -> type[JobSubmission]:
    """The body of a submission: with a field for every kind beside applications and kernels."""
    more: dict[str, Any] = {
        view.name: (view.body | None, Field(default=None, description=f"{view.title}, instead of `application`."))
        for view in kinds.values()
        if view.body
    }
    return create_model(JobSubmission.__name__, __base__=JobSubmission, **more) if more else JobSubmission


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
