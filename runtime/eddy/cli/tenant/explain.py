# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""`eddy explain`: why a job waits, where its time went, what would have made it faster."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from eddy.cli.support.expected import estimate_sentence
from eddy.cli.support.local import connect
from eddy.cli.support.options import KEY, URL, AsJson, JobId, Key, Url
from eddy.cli.support.output import errors_in_one_line, print_json


def explain(job: JobId, url: Url = URL, key: Key = KEY, as_json: AsJson = False) -> None:
    """Say why a job waits, where its time went, and what would have made it faster."""
    with errors_in_one_line(as_json), connect(url, key) as client:
        found = client.explain(job)
        error = client.show(job)["error"] if found["state"] == "failed" else None
    if as_json:
        print_json(found)
    else:
        print("\n".join(lines_of(found, error)))


def lines_of(found: Mapping[str, Any], error: Mapping[str, Any] | None = None) -> list[str]:
    """An explanation for people; `error` is that of a job that failed."""
    failed = [f"It failed with {error['cause']}: {error['message']}"] if error else []
    expected = estimate_sentence(found["estimate"])
    taken = [each["words"] for each in found["preempted"]]
    return [
        f"job {found['job']} {found['state']}",
        *failed,
        *found["words"],
        *taken,
        *([expected] if expected else []),
    ]
