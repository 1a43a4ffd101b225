# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Places for bytes by their names."""

from __future__ import annotations

from pathlib import Path

from eddy.core.errors import InvalidRequest
from eddy.pool.bytes.byte_store import S3, ByteStore
from eddy.pool.bytes.folder_store import FolderStore
from eddy.pool.bytes.s3_store import S3Store


def open_store(where: str, drafts: Path | None = None) -> ByteStore:
    """The place that is named.

    Args:
        where: A folder, or `s3://bucket/prefix`. Keys, region and endpoint are in the environment, as `AWS_*`.
        drafts: Where what is on its way to S3 lies on this machine; where the system has such files, if left out.

    Raises:
        InvalidRequest: It is none, or what it needs is not installed.
    """
    if where.startswith(S3):
        bucket, _, prefix = where.removeprefix(S3).partition("/")
        if not bucket:
            raise InvalidRequest(f"{where} names no bucket: s3://BUCKET/PREFIX.", field="bytes", asked=where)
        return S3Store(bucket, prefix.strip("/"), drafts)
    if not where or "://" in where:
        message = "Name a folder that all heads share, or s3://BUCKET/PREFIX, for the pool's bytes (--bytes)."
        raise InvalidRequest(message, field="bytes", asked=where)
    return FolderStore(Path(where).expanduser().absolute())
