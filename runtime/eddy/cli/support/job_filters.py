# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Options that say which jobs to list, and the labels of a submission."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Annotated, Any

import typer

from eddy.cli.support.options import one_of
from eddy.core.names import normalize_text

ORDERS = ("newest", "oldest", "ended")
_AGO = re.compile(r"([0-9]+(?:\.[0-9]+)?)([smhdw])")
_UNIT_S = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 7 * 86400}
WHEN = "2h, 3d, 2026-11-22 or 2026-11-22T18:00"

Labels = Annotated[
    list[str] | None, typer.Option("--label", metavar="NAME=VALUE", help="A label for filters; repeatable.")
]


def _id_option(name: str, what: str) -> Any:
    return typer.Option(name, metavar="ID", min=1, help=f"{what}; repeatable.")


After = Annotated[list[int] | None, _id_option("--after", "A job or array that must succeed first")]
AfterAny = Annotated[list[int] | None, _id_option("--afterany", "A job or array that must end first, however")]
AfterNotOk = Annotated[
    list[int] | None, _id_option("--afternotok", "A job or array that must fail or be cancelled first")
]
AfterCorr = Annotated[
    list[int] | None,
    _id_option("--aftercorr", "With --as-array: an array each job of which must succeed before the one in its place"),
]
MaxRunning = Annotated[
    int | None, typer.Option("--max-running", metavar="N", min=1, help="With --as-array: most jobs of it at once.")
]
Retry = Annotated[
    int, typer.Option("--retries", min=0, max=10, help="Retries after faults that the job did not cause.")
]
RetryOn = Annotated[
    list[str] | None, typer.Option("--retry-on", metavar="CAUSE", help="Retry after this cause instead; repeatable.")
]
EndLate = Annotated[bool, typer.Option("--end-late", help="End it where its deadline has passed.")]
WithLabel = Annotated[
    list[str] | None, typer.Option("--label", metavar="NAME=VALUE", help="Only jobs with it; repeatable.")
]
OfApplication = Annotated[str | None, typer.Option("--application", help="Only jobs of this application.")]
OfKernel = Annotated[str | None, typer.Option("--kernel", help="Only jobs of kernels of this name.")]
OfArray = Annotated[int | None, typer.Option("--array", metavar="ID", min=1, help="Only jobs of this array.")]
OfTenant = Annotated[str | None, typer.Option("--tenant", help="Only this tenant's (operators).")]
Sort = Annotated[str, typer.Option("--sort", callback=one_of(ORDERS), help=f"{', '.join(ORDERS)}.")]


def moment(text: str | None) -> float | None:
    """A time as people give it, in seconds since 1970: so long ago, or a date, in local time.

    Raises:
        typer.BadParameter: It is neither.
    """
    if text is None:
        return None
    ago = _AGO.fullmatch(text)
    if ago is not None:
        return time.time() - float(ago[1]) * _UNIT_S[ago[2]]
    try:
        return datetime.fromisoformat(text).timestamp()
    except (ValueError, OverflowError, OSError):
        raise typer.BadParameter(f"{text!r} is no time; give {WHEN}.") from None


def _parse_moment(text: str | None) -> str | None:
    moment(text)
    return text


Since = Annotated[str | None, typer.Option("--since", callback=_parse_moment, help=f"Submitted then or later: {WHEN}.")]
Before = Annotated[str | None, typer.Option("--before", callback=_parse_moment, help="Submitted before.")]


def labels_of(texts: Sequence[str] | None) -> dict[str, str]:
    """`["run=7"]` to `{"run": "7"}`.

    Raises:
        typer.BadParameter: One has no `=`.
    """
    found = dict[str, str]()
    for text in texts or ():
        name, equals, value = text.partition("=")
        if not equals:
            raise typer.BadParameter(f"--label {text!r} has no value; give it as NAME=VALUE.")
        found[normalize_text(name)] = normalize_text(value)
    return found


def matches_filters(
    tenant: str | None, application: str | None, kernel: str | None, labels: Mapping[str, str], array: int | None = None
) -> Callable[[Mapping[str, Any]], bool]:
    """Whether a job is one of those asked for, as the server decides it; by time, every later job is."""

    def fits(job: Mapping[str, Any]) -> bool:
        return (
            tenant in (None, job["tenant"])
            and application in (None, job["application"])
            and (kernel is None or job["application"] == f"kernel:{kernel}")
            and (array is None or (job["array"] or {}).get("id") == array)
            and all(job["labels"].get(name) == value for name, value in labels.items())
        )

    return fits


def retries_of(times: int, causes: Sequence[str] | None) -> dict[str, Any] | None:
    """What a submission says of being tried again."""
    if causes and not times:
        raise typer.BadParameter("--retry-on names causes; give the number of tries with --retries.")
    return {"max": times, **({"on": list(causes)} if causes else {})} if times else None
