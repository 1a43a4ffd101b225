# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The bytes of a blob, where they lie, and whether they are still those that were stored."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from eddy.core.units import format_bytes
from eddy.store.disk import files
from eddy.store.disk.verification_cache import VerificationCache


@dataclass(frozen=True, slots=True)
class BlobFile:
    """A blob's bytes, where they lie.

    Attributes:
        sha256: What its bytes hash to.
        damaged: Where it is noted if they are not what was stored.
    """

    path: Path
    sha256: str
    size_bytes: int
    damaged: VerificationCache = field(compare=False, repr=False, default_factory=VerificationCache)

    def pieces(self, place: int, size: int) -> Iterator[tuple[int, bytes]]:
        """`size` bytes from `place` on, not verified: offsets from there, and the bytes, a piece at a time.

        Raises:
            DamagedFile: They are not there.
        """
        at = 0
        for piece in files.pieces(self.path, place, size, self._what):
            yield at, piece
            at += len(piece)

    def read_verified(self) -> Iterator[tuple[int, bytes]]:
        """All of it: offsets and bytes, a piece at a time.

        Raises:
            DamagedFile: They are not the bytes that were stored, which is only known after the last piece.
        """
        digest = hashlib.sha256()
        for at, piece in self.pieces(0, self.size_bytes):
            digest.update(piece)
            yield at, piece
        if digest.hexdigest() != self.sha256:
            self.damaged.remember(self.path)
        files.check(digest.hexdigest() == self.sha256, self.path, self._what, f"its sha256 is {digest.hexdigest()}")
        with suppress(FileNotFoundError):  # it was forgotten while it was read
            size = self.path.stat().st_size
            what = f"it has {format_bytes(size)} instead of {format_bytes(self.size_bytes)}"
            files.check(size == self.size_bytes, self.path, self._what, what)

    def verify(self) -> BlobFile:
        """Itself, once all of its bytes were found to be those that were stored.

        Raises:
            DamagedFile: They are not.
        """
        for _ in self.read_verified():
            pass
        return self

    @property
    def _what(self) -> str:
        return f"blob {self.sha256}"
