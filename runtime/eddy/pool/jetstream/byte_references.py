# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""All entries that say who refers to which bytes, of all tenants, as of one reading."""

from __future__ import annotations

import contextlib
import datetime
from collections import defaultdict
from dataclasses import dataclass, field

from nats.js.kv import KeyValue

from eddy.pool.bytes.byte_store import BlobName
from eddy.pool.jetstream.bucket_reader import entries
from eddy.pool.jetstream.byte_accounts import STORE
from eddy.pool.records.record_json import NO_SENSE, parse_json


@dataclass(frozen=True, slots=True)
class ComingBlob:
    """A blob on its way.

    Attributes:
        at_unix_s: When that was written.
    """

    revision: int
    at_unix_s: float
    generation: str


@dataclass
class ByteReferences:
    """Who refers to what.

    Attributes:
        references: Generations by who refers to them, by tenant and blob.
        coming: Of blobs on their way.
        sizes: Bytes of those that came, by tenant and blob.
    """

    references: defaultdict[tuple[str, str], dict[str, str]] = field(default_factory=lambda: defaultdict(dict))
    coming: dict[tuple[str, str, str], ComingBlob] = field(default_factory=dict)
    sizes: dict[tuple[str, str], int] = field(default_factory=dict)

    @property
    def required_blobs(self) -> set[BlobName]:
        """What must be there."""
        return {
            BlobName(tenant, sha, generation)
            for (tenant, sha), of_blob in self.references.items()
            for reference, generation in of_blob.items()
            if (tenant, sha, reference) not in self.coming
        }

    @property
    def named(self) -> dict[tuple[str, str], set[str]]:
        """Generations of which there are entries, by tenant and blob."""
        return {blob: {*of_blob.values()} for blob, of_blob in self.references.items()}

    def take(self, entry: KeyValue.Entry) -> None:
        """An entry is there, or was there and was taken back."""
        tenant, _, rest = entry.key.partition(".")
        sha, _, reference = rest.partition(".")
        self.references[tenant, sha].pop(reference, None)
        self.coming.pop((tenant, sha, reference), None)
        if entry.operation is not None or entry.key == STORE:
            return
        try:
            told = parse_json(entry.value)
            generation, is_coming = str(told["at"]), bool(told.get("coming"))
            if not is_coming:
                self.sizes[tenant, sha] = int(told["bytes"])
        except NO_SENSE:
            generation, is_coming = "", False  # who follows its tenant says so
        self.references[tenant, sha][reference] = generation
        if is_coming and isinstance(entry.created, datetime.datetime):
            self.coming[tenant, sha, reference] = ComingBlob(
                int(entry.revision or 0), entry.created.timestamp(), generation
            )


async def read_references(bucket: KeyValue) -> ByteReferences:
    """Those of a bucket.

    Raises:
        TimeoutError: They do not come.
    """
    told = ByteReferences()
    async with contextlib.aclosing(entries(bucket)) as all_there_are:
        async for entry in all_there_are:
            if entry is None:
                break
            told.take(entry)
    return told
