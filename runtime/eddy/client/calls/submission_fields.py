# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What a submission says beside what it computes; the server checks it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from eddy.core.records import OPTIONS

if TYPE_CHECKING:
    from eddy.client.calls.job import Job
    from eddy.client.calls.job_array import JobArray

    Others = Iterable[int | Job | JobArray]


def submission_fields(
    options: Mapping[str, Any],
    labels: Mapping[str, str] | None = None,
    after: Others = (),
    retries: int | Mapping[str, Any] | None = None,
    end_late: bool = False,
    afterany: Others = (),
    afternotok: Others = (),
    aftercorr: Others = (),
) -> dict[str, Any]:
    """Fields of a submission, without those nobody asked for.

    Args:
        options: Plain ones by name, of `eddy.core.records.OPTIONS`; None is as good as left out.
        labels: Name to value, for people and for `Client.jobs`.
        after: Jobs and arrays that must succeed first; ids, or handles on them.
        retries: How often it is tried again after a fault it has no part in; or `{"max", "on"}`, with causes.
        end_late: Whether it ends where its deadline has passed.
        afterany: Jobs and arrays that must end first, however.
        afternotok: Jobs and arrays that must fail or be cancelled first.
        aftercorr: For an array: others with as many jobs, each of which must succeed before the job in its place.

    Raises:
        TypeError: There is no such option.
    """
    for name in options:
        if name not in OPTIONS:
            raise TypeError(f"there is no option {name!r} of a submission; there are {', '.join(OPTIONS)}")
    others = {"after": after, "afterany": afterany, "afternotok": afternotok, "aftercorr": aftercorr}
    fields = {
        "labels": dict(labels or {}),
        **{name: [each if isinstance(each, int) else each.id for each in named] for name, named in others.items()},
        "retries": {"max": retries} if isinstance(retries, int) and retries else retries,
        "late": "end" if end_late else "",
    }
    found = {name: value for name, value in fields.items() if value}
    return found | {name: value for name, value in options.items() if value is not None}
