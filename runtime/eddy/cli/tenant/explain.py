# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""`eddy explain`: why a job waits, where its time went, what would have made it faster."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from eddy.cli.support.expected import estimate_sentence
from eddy.cli.support.local import Answer, Client, asks_server
from eddy.cli.support.options import JobId


@asks_server
def explain(client: Client, job: JobId) -> Answer:
    """Say why a job waits, where its time went, and what would have made it faster."""
    found = client.explain(job)
    error = client.show(job)["error"] if found["state"] == "failed" else None
    yield found
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
