# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Blobs: what tenants upload as inputs, named by their hash, each tenant in a namespace of its own.

The bytes are files, `blobs/t-<tenant>/<sha256>` beside the data base; a row says that a file is whole, and how large.
"""

from __future__ import annotations

import sqlite3
import stat
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import Protocol

from eddy.core.errors import Conflict, NotFound, RecordDamaged
from eddy.core.tenants import Quota
from eddy.host.files import sync_folder
from eddy.store.bytes.blob_file import BlobFile
from eddy.store.bytes.uploads import Upload
from eddy.store.db.damage import RecordKind, names_damage
from eddy.store.db.database import Database
from eddy.store.db.ledger import Ledger
from eddy.store.db.numbers import Numbers
from eddy.store.disk import files
from eddy.store.disk.files import DamagedFile
from eddy.store.disk.names import DRAFT, INCOMING, is_blob, tenant_folder
from eddy.store.disk.verification_cache import VerificationCache, seen

MAX_KNOWN = 4096
"""Sizes of blobs that are remembered."""


class Sizes:
    """Sizes of the blobs that were asked for last: a submission asks for each of its inputs."""

    def __init__(self) -> None:
        self._sizes: OrderedDict[tuple[str, str], int] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, tenant: str, sha256: str) -> int | None:
        """What is remembered."""
        return self._sizes.get((tenant, sha256))

    def put(self, tenant: str, sha256: str, bytes: int) -> None:
        """Remember a size; the one that came longest ago is forgotten for it."""
        with self._lock:
            self._sizes[tenant, sha256] = bytes
            if len(self._sizes) > MAX_KNOWN:
                self._sizes.popitem(last=False)

    def drop(self, tenant: str, sha256: str) -> None:
        """Forget one."""
        with self._lock:
            self._sizes.pop((tenant, sha256), None)


class SettledFile(Protocol):
    """A file that is whole and on disk, and has no name yet."""

    @property
    def size_bytes(self) -> int:
        """How many bytes it has."""

    def keep(self, path: Path) -> None:
        """Give it its name."""


@dataclass(frozen=True, slots=True)
class BlobListing:
    """Some blobs of a tenant.

    Attributes:
        blobs: Hashes and sizes, in order.
        damaged: Those that belong there too, and whose rows cannot be read.
        following: Where it ends, for the page after it; None on the last.
    """

    blobs: tuple[tuple[str, int], ...]
    damaged: tuple[str, ...]
    following: str | None


MAX_BYTES = 1 << 50
"""More than any file has, and few enough for sums."""
_NAMED = "typeof(sha256) = 'text' AND length(sha256) = 64 AND sha256 NOT GLOB '*[^0-9a-f]*'"
"""Of a row that a blob can be asked for by."""
_MAX_NAMELESS = 1000


@names_damage("a blob's row")
def _bytes(size: object) -> int:
    if type(size) is not int or not 0 <= size <= MAX_BYTES:
        raise TypeError(f"it has {size!r:.40} bytes")
    return size


def hash_and_size(row: sqlite3.Row) -> tuple[str, int]:
    """A blob's hash and size from its row.

    Raises:
        RecordDamaged: It is not what was written.
    """
    return row["sha256"], _bytes(row["bytes"])


def check_summable(column: str) -> str:
    """That a column of bytes can be among those that are added up."""
    return f"typeof({column}) = 'integer' AND {column} BETWEEN 0 AND {MAX_BYTES}"


def _called(tenant: str, sha256: str) -> str:
    return f"{sha256} of tenant {tenant}"


class Blobs:
    """The blobs of all tenants: a file each, and a row that says it is whole.

    Attributes:
        folder: As given.
        ledger: Who keeps how many bytes; what else counts among them is booked in it too.
    """

    def __init__(self, db: Database, folder: Path, numbers: Numbers, quota: Callable[[str], Quota]) -> None:
        self.folder = folder
        self._db, self._numbers, self._quota = db, numbers, quota
        self._sizes, self._verified = Sizes(), VerificationCache()
        self._damaged = VerificationCache()
        """Files that were found damaged. `has` says that they are not there, so who asks before sending sends them."""
        # Held while a file gets or loses its name, and its row: the two must not cross.
        self._naming = threading.Lock()
        query = f"SELECT tenant, sum(bytes) AS n FROM blob WHERE {check_summable('bytes')} GROUP BY tenant"
        self.ledger = Ledger({row["tenant"]: row["n"] for row in db.rows(query)}, quota)

    # On the way in ------------------------------------------------------------------------------------------------

    def upload(self, tenant: str, sha256: str, declared_bytes: int | None = None) -> Upload:
        """Begin to take a blob.

        Raises:
            QuotaExceeded: The tenant may not keep as many bytes.
        """
        return Upload(self, self.ledger, tenant, sha256, declared_bytes)

    def put(self, tenant: str, sha256: str, data: bytes) -> bool:
        """Keep bytes under their hash; putting the same bytes again changes nothing.

        Returns:
            Whether they are new.

        Raises:
            InvalidRequest: The bytes have another hash.
            QuotaExceeded: The tenant keeps as many bytes as it may.
        """
        with self.upload(tenant, sha256, len(data)) as upload:
            upload.write(data)
            return upload.finish()

    def draft(self) -> files.DraftFile:
        """A file for bytes on their way in."""
        return files.DraftFile(files.make_folder(self.folder / INCOMING, self.folder.parent))

    def keep(self, tenant: str, sha256: str, draft: SettledFile, booked: int) -> bool:
        """Give a settled draft its name, then its row; answers whether the row is new.

        Args:
            draft: The bytes.
            booked: Bytes that the caller has booked for it. Whatever happens here, only those of a row that has come
                stay booked: also where the disk refuses after the row was written.

        Raises:
            QuotaExceeded: Less was booked, because it was there already, and it is there no more.
        """
        path, size = self._blob_path(tenant, sha256), draft.size_bytes
        with self._naming:
            before = self._known_bytes(tenant, sha256)
            try:
                self._quota(tenant)  # it may have been removed since the first byte came
                files.make_folder(path.parent, self.folder.parent)
                if before is None and size > booked:
                    self.ledger.book(tenant, size - booked)
                    booked = size
                draft.keep(path)
                sync_folder(path.parent)
                values = tenant, sha256, size
                with self._db.transaction() as db:
                    db.execute("INSERT OR REPLACE INTO blob (tenant, sha256, bytes) VALUES (?, ?, ?)", values)
                self._db.damage.mark_repaired(RecordKind.BLOB, _called(tenant, sha256))
                return before is None
            finally:
                after = self._known_bytes(tenant, sha256)
                if after is None:
                    with suppress(OSError):
                        path.unlink(missing_ok=True)
                self.ledger.release(tenant, booked - ((after or 0) - (before or 0)))

    # There --------------------------------------------------------------------------------------------------------

    def page(self, tenant: str, after: str, limit: int) -> BlobListing:
        """Hashes of a tenant's blobs, with their sizes, in order of the hashes.

        Args:
            after: Only those behind this one.
            limit: At most so many.

        The first page names those too whose rows do not say what they are called: no page could end at one.
        """
        query = f"SELECT sha256, bytes FROM blob WHERE tenant = ? AND sha256 > ? AND {_NAMED} ORDER BY sha256 LIMIT ?"
        rows = self._db.rows(query, tenant, after, limit)
        name = partial(_called, tenant)
        found = self._db.damage.read_rows(RecordKind.BLOB, rows, lambda row: name(row["sha256"]), hash_and_size)
        sizes = dict(found)
        damaged = tuple(row["sha256"] for row in rows if row["sha256"] not in sizes)
        damaged = damaged if after else (*self._nameless(tenant), *damaged)
        return BlobListing(tuple(sizes.items()), damaged, rows[-1]["sha256"] if len(rows) == limit else None)

    def _nameless(self, tenant: str) -> Iterator[str]:
        query = f"SELECT sha256 FROM blob WHERE tenant = ? AND NOT ({_NAMED}) LIMIT ?"
        for row in self._db.rows(query, tenant, _MAX_NAMELESS):
            name = row["sha256"] if isinstance(row["sha256"], str) else repr(row["sha256"])
            self._db.damage.note(RecordKind.BLOB, _called(tenant, name), f"sha256 is {name!r:.80}")
            yield f"{name:.80}"

    def has(self, tenant: str, sha256: str) -> bool:
        """Whether the tenant has uploaded these bytes, and they are still there; uploading what is not mends it."""
        size = self._known_bytes(tenant, sha256)
        if size is None:
            return False
        path = self._blob_path(tenant, sha256)
        if self._damaged.is_remembered(path):
            return False
        with suppress(OSError):
            found = path.lstat()
            return stat.S_ISREG(found.st_mode) and found.st_size == size
        return False

    def size_bytes(self, tenant: str, sha256: str) -> int | None:
        """Size of a blob, or None where there is none of that hash.

        Raises:
            RecordDamaged: There is one, and how large it is cannot be read; putting it again mends that.
        """
        known = self._sizes.get(tenant, sha256)
        if known is not None:
            return known
        rows = self._db.fresh_rows("SELECT bytes FROM blob WHERE tenant = ? AND sha256 = ?", tenant, sha256)
        if not rows:
            return None
        with self._db.damage.name_record(RecordKind.BLOB, _called(tenant, sha256)):
            size = _bytes(rows[0]["bytes"])
        if self._db.in_transaction:  # where it cannot be deleted between the two
            self._sizes.put(tenant, sha256, size)
        return size

    def _known_bytes(self, tenant: str, sha256: str) -> int | None:
        """The same, for who puts it there: one that is damaged is not."""
        with suppress(RecordDamaged):
            return self.size_bytes(tenant, sha256)
        return None

    def file(self, tenant: str, sha256: str) -> BlobFile:
        """Where the bytes of a blob lie, not yet verified.

        Raises:
            NotFound: This tenant has uploaded none of that hash.
        """
        size = self.size_bytes(tenant, sha256)
        if size is None:
            raise NotFound(f"no blob {sha256} of tenant {tenant}: upload it first", field="sha256", asked=sha256)
        return BlobFile(self._blob_path(tenant, sha256), sha256, size, self._damaged)

    def read(self, tenant: str, file: BlobFile, begin: int, stop: int) -> Iterator[bytes]:
        """Bytes of a blob from `begin` up to `stop`, a piece at a time. All of it is verified first; for a part, unless
        it was and the file has not changed since. One that is forgotten meanwhile is read to its end.

        Raises:
            NotFound: It was forgotten before its bytes were read.
            DamagedFile: They are not what was uploaded.
        """
        while True:
            before = seen(file.path)
            try:
                if stop - begin == file.size_bytes or not self._verified.is_remembered(file.path):
                    file.verify()
                    self._verified.remember(file.path)
                pieces = (piece for _, piece in file.pieces(begin, stop - begin))
                return chain([*islice(pieces, 1)], pieces)  # open from here on
            except DamagedFile:
                with self._naming:  # while nothing gets or loses its name: what has a row has a file
                    self.file(tenant, file.sha256)
                    if seen(file.path) == before:
                        raise

    def get(self, tenant: str, sha256: str) -> bytes:
        """The bytes of a blob.

        Raises:
            NotFound: This tenant has uploaded none of that hash.
            DamagedFile: They are not what was uploaded.
        """
        return b"".join(piece for _, piece in self.file(tenant, sha256).read_verified())

    def drop(self, tenant: str, sha256: str) -> None:
        """Forget a blob.

        Raises:
            NotFound: There is none of that hash.
            Conflict: A job that has not ended was submitted with it.
        """
        with self._naming:
            with self._db.transaction() as db:
                row = self._db.row("SELECT bytes FROM blob WHERE tenant = ? AND sha256 = ?", tenant, sha256)
                if row is None:
                    raise NotFound(f"no blob {sha256} of tenant {tenant}", field="sha256", asked=sha256)
                query = "SELECT id FROM job WHERE tenant = ? AND final = 0 AND instr(request, ?) > 0"
                used = self._db.row(query, tenant, f'"{sha256}"')
                if used is not None:
                    told = self._numbers.job.public_id(used["id"])
                    raise Conflict(f"job {told} still needs blob {sha256}", field="sha256", job=told)
                db.execute("DELETE FROM blob WHERE tenant = ? AND sha256 = ?", (tenant, sha256))
                self._sizes.drop(tenant, sha256)
            files.remove_unnamed(self._blob_path(tenant, sha256))
        with suppress(RecordDamaged):  # it was never booked
            self.ledger.release(tenant, _bytes(row["bytes"]))

    def drop_some(self, tenant: str, most: int) -> bool:
        """Forget some blobs of a tenant that is removed; answers whether there may be more.

        Args:
            most: As many.
        """
        with self._naming:
            with self._db.transaction() as db:
                rows = self._db.rows("SELECT sha256 FROM blob WHERE tenant = ? LIMIT ?", tenant, most)
                keys = [(tenant, row["sha256"]) for row in rows]
                db.executemany("DELETE FROM blob WHERE tenant = ? AND sha256 = ?", keys)
                for key in keys:
                    self._sizes.drop(*key)
            for key in keys:
                files.remove_unnamed(self._blob_path(*key))
            if not keys:
                self._drop_folder(tenant)
        return bool(keys)

    def _drop_folder(self, tenant: str) -> None:
        """Remove a tenant's folder, with files of ours that a crash left there without a row."""
        folder = self.folder / tenant_folder(tenant)
        with suppress(FileNotFoundError, NotADirectoryError):
            for path in list(folder.iterdir()):
                if is_blob(path.name) or path.name.endswith(DRAFT):
                    files.remove_unnamed(path)
            with suppress(OSError):  # something of somebody else's is in it
                folder.rmdir()

    def _blob_path(self, tenant: str, sha256: str) -> Path:
        return self.folder / tenant_folder(tenant) / sha256
