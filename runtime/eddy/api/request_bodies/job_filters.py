# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What `GET /v1/jobs` may be asked for: filters, an order, and where a page begins."""

from __future__ import annotations

import re

from pydantic import BaseModel, ConfigDict, Field

from eddy.api.request_bodies.names import Label
from eddy.api.request_bodies.numbers import Decimal
from eddy.core.jobs import JobState
from eddy.core.records import KERNEL
from eddy.core.submission_options import MAX_LABELS
from eddy.store.db.numbers import Numbers
from eddy.store.db.rows import microseconds
from eddy.store.job_tables.listing import JobFilter, ListOrder, Place

_CURSOR = re.compile(r"([0-9]{1,16})\.([0-9]{1,18})")
_MAX_UNIX_S = 1e10


class ListQuery(BaseModel):
    """Which jobs to list."""

    model_config = ConfigDict(extra="forbid")

    state: JobState | None = Field(default=None, description="Only jobs in this state.")
    tenant: str | None = Field(default=None, max_length=64, description="Only this tenant's (operators).")
    application: str | None = Field(default=None, max_length=64, description="Only jobs of this application.")
    kernel: str | None = Field(default=None, max_length=128, description="Only jobs of kernels of this name.")
    label: list[Label] = Field(
        default_factory=list,
        max_length=MAX_LABELS,
        description="Only jobs with this label, as `name=value`; with all of several.",
    )
    array: Decimal | None = Field(default=None, ge=1, le=(1 << 63) - 1, description="Only jobs of this array.")
    submitted_from: float | None = Field(
        default=None, ge=0, le=_MAX_UNIX_S, description="Only jobs submitted then or later, in seconds since 1970."
    )
    submitted_before: float | None = Field(
        default=None, ge=0, le=_MAX_UNIX_S, description="Only jobs submitted before, in seconds since 1970."
    )
    sort: ListOrder = Field(
        default=ListOrder.NEWEST,
        description="`newest` or `oldest` by submission; or `ended`, the latest end first, only jobs that have ended.",
    )
    limit: Decimal | None = Field(default=None, ge=1, le=500, description="Jobs in a page.")
    cursor: str | None = Field(
        default=None, pattern=f"^{_CURSOR.pattern}$", description="`next` of the page before; the rest stays the same."
    )

    def to_filter(self, tenant: str | None, numbers: Numbers) -> JobFilter:
        """What that is to the store; `tenant` is whose, None for everyone's; `numbers` what jobs are told as."""
        kernel = None if self.kernel is None else f"{KERNEL}:{self.kernel}"
        return JobFilter(
            tenant=tenant,
            state=self.state,
            applications=tuple(name for name in (self.application, kernel) if name is not None),
            labels=tuple((name, value) for name, _, value in (label.partition("=") for label in self.label)),
            from_us=None if self.submitted_from is None else microseconds(self.submitted_from),
            before_us=None if self.submitted_before is None else microseconds(self.submitted_before),
            array=None if self.array is None else numbers.job.resolve_id(self.array),
            order=self.sort,
        )

    def after(self, numbers: Numbers) -> Place | None:
        """Where the page begins; None for the first."""
        found = _CURSOR.fullmatch(self.cursor or "")
        return None if found is None else (int(found[1]), numbers.job.resolve_id(int(found[2])))


def cursor_of(place: Place, numbers: Numbers) -> str:
    """What names a place in the order."""
    return f"{place[0]}.{numbers.job.public_id(place[1])}"
