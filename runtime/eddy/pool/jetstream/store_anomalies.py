# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What a head met in the pool's store that should not be there: counted, and shown to operators."""

from __future__ import annotations

from dataclasses import dataclass, field

import structlog

MAX_SHOWN = 100
"""Records that are shown of those that cannot be read."""
_log = structlog.get_logger("eddy.pool")


@dataclass(slots=True)
class StoreAnomalies:
    """Of one head.

    Attributes:
        passed_over: Numbers of submissions that were another's already.
        missing: Streams and buckets that the servers do not keep any more.
        unreadable: Why records cannot be read, by bucket and key. They are set aside: nothing is made of them, and they
            stay as they are.
    """

    passed_over: int = 0
    missing: set[str] = field(default_factory=set)
    unreadable: dict[tuple[str, str], str] = field(default_factory=dict)

    def record_unreadable(self, bucket: str, key: str, why: str) -> None:
        """A record cannot be read."""
        if self.unreadable.get((bucket, key)) != why:
            _log.error("a record cannot be read, and is set aside", bucket=bucket, key=key, error=why)
        self.unreadable[bucket, key] = why

    def forget(self, bucket: str, key: str) -> None:
        """It can be read, or is there no more."""
        self.unreadable.pop((bucket, key), None)

    def list_unreadable(self) -> list[dict[str, str]]:
        """The first of those that cannot be read."""
        first = sorted(self.unreadable.items())[:MAX_SHOWN]
        return [{"bucket": bucket, "key": key, "why": why} for (bucket, key), why in first]
