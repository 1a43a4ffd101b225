# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""A blob on its way in: every byte is booked before it is written, hashed as it passes, and gone unless it is right."""

from __future__ import annotations

from typing import Protocol

from eddy.core.errors import InvalidRequest
from eddy.core.units import format_bytes
from eddy.store.db.ledger import Ledger
from eddy.store.disk.files import DraftFile

STEP_BYTES = 1 << 20
"""What is booked at a time where nobody said how much will come."""


class BlobSink(Protocol):
    """Where blobs are kept, as an upload sees it; errors are those of `eddy.store.bytes.blobs.Blobs`."""

    def has(self, tenant: str, sha256: str) -> bool:
        """Whether a tenant has it."""

    def draft(self) -> DraftFile:
        """A file to write it to."""

    def size_bytes(self, tenant: str, sha256: str) -> int | None:
        """Size of one that is there."""

    def keep(self, tenant: str, sha256: str, draft: DraftFile, booked: int) -> bool:
        """Keep a finished draft, and take over what was booked for it; answers whether it is new."""


class Upload:
    """One blob on its way in; a context manager, at whose end nothing is left of it unless it was finished.

    Not for two threads at once.

    Args:
        ledger: Where its bytes are booked.
        sha256: What its bytes must hash to.
        declared_bytes: How many will come, where that is known.

    Raises:
        QuotaExceeded: The tenant may not keep as many.
    """

    def __init__(
        self, blobs: BlobSink, ledger: Ledger, tenant: str, sha256: str, declared_bytes: int | None = None
    ) -> None:
        self._blobs, self._ledger, self._tenant, self._sha256 = blobs, ledger, tenant, sha256
        self._booked = 0
        self._known = blobs.size_bytes(tenant, sha256) if blobs.has(tenant, sha256) else None
        """Size of what is already there: what comes replaces it, which mends a file that was damaged, and takes no more
        room as long as it is there."""
        if self._known is None:
            self._book(declared_bytes or 0)
        self._draft = blobs.draft()

    def __enter__(self) -> Upload:
        return self

    def __exit__(self, *_: object) -> None:
        self._draft.drop()
        self._ledger.release(self._tenant, self._booked)
        self._booked = 0

    @property
    def size_bytes(self) -> int:
        """What has come so far."""
        return self._draft.size_bytes

    def write(self, data: bytes) -> None:
        """Take more bytes.

        Raises:
            QuotaExceeded: The tenant may not keep as many.
        """
        comes = self._draft.size_bytes + len(data)
        if comes > max(self._booked, self._known or 0):
            self._book(comes - self._booked, STEP_BYTES)
        self._draft.write(data)

    def finish(self) -> bool:
        """Keep it.

        Returns:
            Whether it is new.

        Raises:
            InvalidRequest: The bytes have another hash.
            QuotaExceeded: It was there when it began to come, is there no more, and the tenant may not keep as many.
        """
        draft = self._draft
        if draft.sha256 != self._sha256:
            raise InvalidRequest(
                f"The {format_bytes(draft.size_bytes)} received have the sha256 {draft.sha256}, not"
                f" {self._sha256[:64]}:"
                " send them under their own hash.",
                field="sha256",
                asked=self._sha256[:64],
                allowed=draft.sha256,
            )
        draft.settle()
        booked, self._booked = self._booked, 0
        return self._blobs.keep(self._tenant, self._sha256, draft, booked)

    def _book(self, least: int, step: int = 0) -> None:
        """Book bytes: in steps where there is room for one, else just as many as there are."""
        if step > least and self._ledger.room_bytes(self._tenant) >= step:
            least = step
        self._ledger.book(self._tenant, least)
        self._booked += least
