# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""API keys: random, shown once, kept as a keyed SHA-256.

A key has 256 random bits, so no slow hash is needed: nobody can guess it, and the secret beside the store
keeps a stolen database from being searched offline.
"""

from __future__ import annotations

import secrets
from pathlib import Path

from eddy.host.files import translate_os_errors, write_private
from eddy.store.account_tables.tenants import make_keyed_hash

PREFIX = "eddy_"
"""What every key begins with, so that secret scanners and people recognise one."""
SECRET_BYTES = 32


def new_key() -> str:
    """A fresh key."""
    return PREFIX + secrets.token_urlsafe(32)


class KeyHasher:
    """Hashes keys under one server's secret.

    Args:
        secret: At least 32 random bytes, kept next to the store.

    Attributes:
        hash: Answers the hash of a key, as tenants' records hold it.
    """

    def __init__(self, secret: bytes) -> None:
        if len(secret) < SECRET_BYTES:
            raise ValueError("the secret must have at least 32 bytes")
        self.hash = make_keyed_hash(secret)


def load_secret(path: Path, first: bool) -> bytes:
    """The server's secret, made on the first start.

    Raises:
        StorageFailed: It cannot be read or made.
    """
    if first:
        write_private(path, secrets.token_bytes(SECRET_BYTES))
    with translate_os_errors(path):
        return path.read_bytes()
