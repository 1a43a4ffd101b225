# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""A place for bytes, as heads use one, whatever it is made of.

A blob has a name of its own each time that it is written, so what one head takes away is never what another has just
written. Its bytes are seen to be what their name says before anything can be read under it.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import AsyncGenerator, Hashable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from eddy.store.disk.files import DraftFile
from eddy.store.disk.names import is_blob, tenant_folder, tenant_of

S3 = "s3://"
_GENERATION = re.compile(r"[0-9a-f]{16}")


class BytesAway(OSError):
    """The place where bytes lie does not answer now; whoever asks again may be answered."""


@dataclass(frozen=True, slots=True)
class BlobName:
    """What is written once.

    Attributes:
        sha256: Of its bytes, in hex.
        generation: Tells it from the same bytes written at another time.
    """

    tenant: str
    sha256: str
    generation: str

    @classmethod
    def new(cls, tenant: str, sha256: str) -> BlobName:
        """One that nothing has yet."""
        return cls(tenant, sha256, secrets.token_hex(8))

    @property
    def path(self) -> str:
        """Below the pool's part of the place."""
        return f"{tenant_folder(self.tenant)}/{self.sha256}.{self.generation}"

    @classmethod
    def of_path(cls, path: str) -> BlobName | None:
        """The inverse of `path`; None for what is no blob's."""
        folder, _, file = path.rpartition("/")
        sha, _, generation = file.partition(".")
        tenant = tenant_of(folder)
        if tenant is None or not is_blob(sha) or not _GENERATION.fullmatch(generation):
            return None
        return cls(tenant, sha, generation)


@dataclass(frozen=True, slots=True)
class SeenBlob:
    """A blob that is there.

    Attributes:
        mark: Differs once it was written to.
        at_unix_s: When it was written.
    """

    size_bytes: int
    mark: Hashable
    at_unix_s: float


class ByteStore(Protocol):
    """The place.

    Every call raises `BytesAway` where it does not answer, and `eddy.core.errors.StorageFailed` (`StorageFull` among
    its kinds) where it refuses.
    """

    place: str

    async def begin(self, pool: str, make: bool) -> bool:
        """Use the part of a pool; false where there is none and `make` is not set."""

    def draft(self) -> DraftFile:
        """A file on its way in, on this machine."""

    def check_room(self, more_bytes: int) -> None:
        """See that so many fit.

        Raises:
            StorageFull: They do not.
        """

    async def keep(self, draft: DraftFile, name: BlobName) -> None:
        """Have what was drafted be there under its name, or nothing."""

    async def look(self, name: BlobName) -> SeenBlob | None:
        """What is there; None for nothing."""

    def pieces(self, name: BlobName, begin: int, stop: int) -> AsyncGenerator[bytes, None]:
        """Bytes from `begin` up to `stop`, a piece at a time; fewer where there are not so many."""

    async def remove(self, name: BlobName) -> None:
        """Have it be there no more; nothing where it is not."""

    def blobs(self) -> AsyncGenerator[tuple[BlobName, SeenBlob], None]:
        """All that is there."""

    async def left_drafts(self, before_unix_s: float) -> Sequence[Path]:
        """Files on their way in that nobody wrote to since then, as killed heads leave them."""

    def capacity(self) -> int:
        """Bytes that it can have in all; 0 where nobody knows."""
