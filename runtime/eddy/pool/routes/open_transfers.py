# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Addresses at which a board fetches an input, or sends an output: each is good once, for a while, for the board that
asked for it and as long as the job is placed there.

An address has 128 random bits, and its transfer needs the secret whose digest the board gave when it asked, over its
own connection to the servers: who learns of the address alone has nothing.
"""

from __future__ import annotations

import hmac
import secrets
import time
from collections import defaultdict, deque
from dataclasses import dataclass

from eddy.core.errors import NotFound
from eddy.pool.connection.transfer import digest_of
from eddy.pool.records.records import PoolJob

MAX_AT_ONCE = 32
"""Addresses of a board that are good at once at a head, beyond which the oldest is given up; of one that has many jobs,
two for each."""
GOOD_S = 120.0
"""Wall seconds in which a transfer is to begin."""
KEPT = 10_000
"""Jobs of which it is kept how often a transfer was told of."""
AGAIN = 2
"""Times that a transfer may be told of: an answer that was lost is asked for again."""
PATH = "/v1/transfers"


@dataclass(frozen=True, slots=True)
class Transfer:
    """One that may begin.

    Attributes:
        job: Number of the job, and the token of its placement there.
        token: See `job`.
        tenant: Whose bytes.
        sends: Whether the board sends them; else it fetches.
        bps: Bits per second that it gets them at; 0 for any rate.
    """

    board: str
    job: int
    token: int
    tenant: str
    sha256: str
    size_bytes: int
    sends: bool
    bps: float = 0.0


class OpenTransfers:
    """Those of one head.

    Args:
        url: The head's, as boards reach it.
    """

    def __init__(self, url: str) -> None:
        self._url = url
        self._open: dict[str, tuple[Transfer, str, float]] = {}
        self._of: defaultdict[str, deque[str]] = defaultdict(deque)

    def offer(self, transfer: Transfer, digest: str, jobs: int = 0) -> str:
        """An address for a transfer.

        Args:
            digest: Of the secret that it will need.
            jobs: How many the board has.
        """
        name, own = secrets.token_hex(16), self._of[transfer.board]
        self._open[name] = transfer, digest, time.monotonic() + GOOD_S
        own.append(name)
        while len(own) > max(MAX_AT_ONCE, 2 * jobs):
            self._open.pop(own.popleft(), None)
        return f"{self._url}{PATH}/{name}"

    def take(self, name: str, secret: str, sends: bool) -> Transfer:
        """Begin a transfer: nobody begins it again.

        Raises:
            NotFound: There is none, or not for whoever asks.
        """
        transfer, digest, until_s = self._open.get(name, (None, "", 0.0))
        if (
            transfer is None
            or transfer.sends != sends
            or time.monotonic() > until_s
            or not hmac.compare_digest(digest_of(secret).encode(), digest.encode())
        ):
            raise NotFound("There is no such transfer, or no more: ask for it again.")
        del self._open[name]
        self._of[transfer.board].remove(name)
        return transfer


class Transfers:
    """Transfers that one head told followers of. What is told stays a week, and boards may say what they like."""

    def __init__(self) -> None:
        self._told: dict[int, tuple[int, int]] = {}

    def count_transfer(self, job: PoolJob) -> bool:
        """Count a transfer of a job; false where there were more than its inputs under this placement."""
        token, number = self._told.pop(job.id, (job.token, 0))
        number = 1 if token != job.token else number + 1
        self._told[job.id] = job.token, number
        if len(self._told) > KEPT:
            del self._told[next(iter(self._told))]
        return number <= AGAIN * len(job.blobs)
