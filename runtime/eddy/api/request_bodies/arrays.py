# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Arrays of jobs as they come in over HTTP."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import ConfigDict, FailFast, Field, ValidationError, create_model

from eddy.api.request_bodies import examples
from eddy.api.request_bodies.base import Digest, Digests, Request
from eddy.api.request_bodies.jobs import JobSubmission
from eddy.api.request_bodies.kernels import Argument
from eddy.api.request_bodies.kinds import KindView
from eddy.api.request_bodies.names import Labels
from eddy.api.request_bodies.numbers import Whole
from eddy.core.errors import InvalidRequest
from eddy.core.submission_options import MAX_ARRAY


class Difference(Request):
    """What one job of an array has instead of what they share."""

    inputs: dict[str, Digests] = Field(default_factory=dict, description="Inputs by name, instead of those of `job`.")
    constants: dict[str, Digest] = Field(default_factory=dict, description="Constants by name, likewise.")
    labels: Labels = Field(default_factory=dict, description="Labels by name, likewise.")
    arguments: dict[Annotated[str, Field(pattern="^(0|[1-9][0-9]?)$")], Argument] = Field(
        default_factory=dict, max_length=64, description="Arguments of a kernel by place, instead of those of `job`."
    )

    def apply_to(self, job: JobSubmission) -> JobSubmission:
        """A job with what is different put in.

        Raises:
            InvalidRequest: It names an argument the kernel is not given, or what is put together is more than a job may
                have.
        """
        changes: dict[str, Any] = {
            name: {**getattr(job, name), **getattr(self, name)} for name in ("inputs", "constants", "labels")
        }
        if self.arguments:
            changes["kernel"] = job.kernel and job.kernel.model_copy(update={"arguments": self._arguments(job)})
        made = job.model_copy()
        for name, value in changes.items():
            # What each of the two may have, both together may be too much of.
            if value and (name == "kernel" or getattr(self, name)):
                _set(made, name, value)
        return made

    def _arguments(self, job: JobSubmission) -> list[Any]:
        given = list(job.kernel.arguments) if job.kernel is not None else []
        for place, argument in self.arguments.items():
            if int(place) >= len(given):
                message = f"There is no argument {place}: `job` gives {len(given)}; name those that differ."
                raise InvalidRequest(message, field=f"arguments.{place}", allowed=list(range(len(given))))
            given[int(place)] = argument
        return given


def _set(job: JobSubmission, name: str, value: Any) -> None:
    """Set a field, as a body that has it is checked.

    Raises:
        InvalidRequest: It may not be so.
    """
    try:
        type(job).__pydantic_validator__.validate_assignment(job, name, value)
    except ValidationError as failure:
        wrong = failure.errors(include_url=False)[0]
        field = ".".join(map(str, wrong["loc"])) or name
        message = f"{field}, with what `job` has: {wrong['msg']}."
        raise InvalidRequest(message, field=field, **_bound(wrong.get("ctx") or {})) from None


def _bound(context: dict[str, Any]) -> dict[str, Any]:
    return {"allowed": f"at most {context['max_length']}"} if "max_length" in context else {}


class ArraySubmission(Request):
    """Jobs that are submitted together: what they share, and how each of them differs."""

    model_config = ConfigDict(json_schema_extra={"examples": [examples.ARRAY_SUBMISSION]})

    job: JobSubmission = Field(description="What they share, as `POST /v1/jobs` takes it.")
    each: Annotated[list[Difference], FailFast()] = Field(
        min_length=1, max_length=MAX_ARRAY, description="For each job, what it has instead; `{}` for nothing."
    )
    max_running: Whole | None = Field(
        default=None,
        ge=1,
        le=MAX_ARRAY,
        description="Most jobs of it that are ready or run at once; the others wait. Null for any number.",
    )


def array_model(job: type[JobSubmission]) -> type[ArraySubmission]:
    """The body of an array, of jobs as this server takes them."""
    if job is JobSubmission:
        return ArraySubmission
    field: Any = (job, Field(description="What they share, as `POST /v1/jobs` takes it."))
    return create_model(ArraySubmission.__name__, __base__=ArraySubmission, job=field)


def jobs_of(body: ArraySubmission, kinds: Mapping[str, KindView]) -> list[JobSubmission]:
    """The jobs of an array, one by one.

    Raises:
        InvalidRequest: They differ in what their kind has not, or in what `job` has not; `field` says which.
    """
    _check_differences(body, body.job.check_kind(kinds))
    found = []
    for place, difference in enumerate(body.each):
        try:
            found.append(difference.apply_to(body.job))
        except InvalidRequest as error:
            field = f"each[{place}].{error.details['field']}"
            raise InvalidRequest(error.message, **{**error.details, "field": field}) from None
    return found


def _check_differences(body: ArraySubmission, view: KindView) -> None:
    ours = [(place, each) for place, each in enumerate(body.each) if each.arguments or each.inputs or each.constants]
    for place, each in ours:
        for name in ("inputs", "constants") if body.job.kernel is not None else ("arguments",):
            if getattr(each, name):
                message = f"{view.title} job takes no {name}."
                raise InvalidRequest(message, field=f"each[{place}].{name}", allowed="leave it out")
