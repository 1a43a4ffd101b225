# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Blobs of one tenant on their way to and from heads while a pool is broken, and a ledger of what must be there.

Bytes come slowly, so that most faults meet some in flight. What a head acknowledged is asked for again, whole, at any
head: one that is gone, is something else, came back after it was deleted, or is shown to another tenant is wrong.
"""

from __future__ import annotations

import hashlib
import random
import threading
import time
from collections.abc import Callable, Iterator, MutableSequence, Sequence

import httpx

PIECE_BYTES, PIECE_S = 256 << 10, 0.02
"""What is sent at once, and wall seconds from one to the next."""
MAX_BYTES = 8 << 20
"""Of a blob."""
MAX_KEPT = 12
"""Blobs that are there at once."""
PATIENCE_S = 600.0
NOT_NOW = (500, 502, 503, 504, 507)
"""Answers after which a client asks again; 507 while the disk is full."""


class Traffic(threading.Thread):
    """One tenant that puts, fetches and deletes blobs, one after another, until it is stopped.

    Args:
        others_key: Of a tenant that has none of this.
        seed: Of what it does.
        wrong: Where it says what was wrong.

    Attributes:
        done: Transfers that were answered.
        broken: Tries that were not.
        kept: Seeds and sizes of the blobs that are there, by name.
    """

    def __init__(
        self, name: str, urls: Sequence[str], key: str, others_key: str, seed: int, wrong: MutableSequence[str]
    ) -> None:
        super().__init__(name=f"traffic-{name}", daemon=True)
        self._urls, self._chance, self._wrong = list(urls), random.Random(seed), wrong
        self._headers = {"Authorization": f"Bearer {key}"}
        self._others = {"Authorization": f"Bearer {others_key}"}
        self._over = threading.Event()
        self.done = self.broken = 0
        self.kept: dict[str, tuple[int, int]] = {}

    def run(self) -> None:
        """Go on until stopped."""
        while not self._over.is_set():
            try:
                self._act()
            except Exception as failure:  # a thread that ends unseen would check nothing
                self._wrong.append(f"{self.name}: {failure!r}")
                return

    def stop(self) -> None:
        """End, and see that everything is as it was acknowledged."""
        self._over.set()
        self.join()
        for sha in self.kept:
            self._fetch(sha)
        listed = {each["sha256"] for each in self._json("/v1/blobs?limit=1000")["blobs"]}
        if listed != {*self.kept}:
            gone, more = {*self.kept} - listed, listed - {*self.kept}
            self._wrong.append(f"{self.name}: blobs {gone} are not listed, and {more} are")

    def _act(self) -> None:
        what = self._chance.random()
        if len(self.kept) >= MAX_KEPT or (what < 0.2 and self.kept):
            self._remove(self._chance.choice(sorted(self.kept)))
        elif what < 0.6 or not self.kept:
            self._put()
        else:
            self._fetch(self._chance.choice(sorted(self.kept)))

    def _put(self) -> None:
        seed, size = (
            self._chance.getrandbits(32),
            self._chance.choice([1, 4_000, PIECE_BYTES, MAX_BYTES // 4, MAX_BYTES]),
        )
        data = random.Random(seed).randbytes(size)
        sha = hashlib.sha256(data).hexdigest()

        def slowly() -> Iterator[bytes]:
            for at in range(0, size, PIECE_BYTES):
                yield data[at : at + PIECE_BYTES]
                time.sleep(PIECE_S)

        if self._until_answered("PUT", sha, (200, 201), content=slowly) is not None:
            self.kept[sha] = seed, size

    def _fetch(self, sha: str) -> None:
        found = self._until_answered("GET", sha, (200, 404))
        seed, size = self.kept[sha]
        if found is None:
            return
        if found.status_code == 404:
            self._wrong.append(f"{self.name}: blob {sha} of {size} bytes is lost")
        elif found.content != random.Random(seed).randbytes(size):
            self._wrong.append(f"{self.name}: blob {sha} is something else")
        others = self._until_answered("GET", sha, (200, 404), headers=self._others)
        if others is not None and others.status_code == 200:
            self._wrong.append(f"{self.name}: another tenant has blob {sha}")

    def _remove(self, sha: str) -> None:
        before, gone = self.broken, self._until_answered("DELETE", sha, (204, 404))
        if gone is None:
            return
        if gone.status_code == 404 and self.broken == before:  # no try before may have done it
            self._wrong.append(f"{self.name}: blob {sha} is lost")
        del self.kept[sha]
        found = self._until_answered("GET", sha, (200, 404))
        if found is not None and found.status_code == 200:
            self._wrong.append(f"{self.name}: blob {sha} is there after it was deleted")

    def _json(self, path: str) -> dict[str, list[dict[str, str]]]:
        found = self._until_answered("GET", path, (200,))
        assert found is not None, "no head answers"
        told: dict[str, list[dict[str, str]]] = found.json()
        return told

    def _until_answered(
        self,
        method: str,
        what: str,
        good: Sequence[int],
        headers: dict[str, str] | None = None,
        content: Callable[[], Iterator[bytes]] | None = None,
    ) -> httpx.Response | None:
        """Ask any head until one answers as it may; None, and a note, where none does or one says anything else."""
        path, deadline = what if what.startswith("/") else f"/v1/blobs/{what}", time.monotonic() + PATIENCE_S
        while time.monotonic() < deadline:
            url = self._chance.choice(self._urls)
            try:
                found = httpx.request(
                    method, url + path, headers=headers or self._headers, timeout=60.0,
                    content=content() if content else None,
                )  # fmt: skip
            except httpx.HTTPError:  # it was killed, or broke the answer off: no whole one, so nothing was said
                self.broken += 1
            else:
                if found.status_code in good:
                    self.done += 1
                    return found
                if found.status_code not in NOT_NOW:
                    self._wrong.append(
                        f"{self.name}: {method} {path} is answered {found.status_code}: {found.text[:300]}"
                    )
                    return None
                self.broken += 1
            time.sleep(0.1)
        self._wrong.append(f"{self.name}: {method} {path} was not answered in {PATIENCE_S:g} s")
        return None
