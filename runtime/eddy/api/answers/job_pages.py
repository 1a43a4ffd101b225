# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Pages of jobs as JSON. What has ended does not change, so its text is kept: a page is mostly put together."""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Sequence
from typing import Any

from eddy.core.records import JobRecord

MAX_TEXTS = 2048
"""Texts that are kept, of some two kilobytes each."""


class RenderedJobs:
    """Texts of jobs that have ended."""

    def __init__(self) -> None:
        self._known: OrderedDict[int, tuple[JobRecord, Any, bytes]] = OrderedDict()

    def find(self, record: JobRecord, offer: Any) -> bytes | None:
        """The text of a job; None where it is not known.

        Args:
            record: As the store has it; another one of the same job has another text.
            offer: What was offered at the time; a job's outputs are named by it.
        """
        known = self._known.get(record.id)
        if known is None or known[0] is not record or known[1] is not offer:
            return None
        self._known.move_to_end(record.id)
        return known[2]

    def keep(self, record: JobRecord, offer: Any, text: bytes) -> None:
        """Remember the text of a job that has ended."""
        self._known[record.id] = record, offer, text
        if len(self._known) > MAX_TEXTS:
            self._known.popitem(last=False)


def page(jobs: Sequence[bytes], following: str | None, damaged: Sequence[int]) -> bytes:
    """A page, as `JobPage` has it."""
    rest = f'],"next":{json.dumps(following)},"damaged":{json.dumps(list(damaged))}}}'
    return b'{"jobs":[' + b",".join(jobs) + rest.encode()
