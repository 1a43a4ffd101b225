"""API keys: random, shown once, kept as a keyed SHA-256.

A key has 256 random bits, so no slow hash is needed: nobody can guess it, and the secret beside the store
keeps a stolen database from being searched offline.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import secrets
from pathlib import Path

PREFIX = "eddy_"
"""What every key begins with, so that secret scanners and people recognise one."""


def new_key() -> str:
    """A fresh key."""
    return PREFIX + secrets.token_urlsafe(32)


class KeyHasher:
    """Hashes keys under one server's secret.

    Args:
        secret: At least 32 random bytes, kept next to the store.
    """

    def __init__(self, secret: bytes) -> None:
        if len(secret) < 32:
            raise ValueError("the secret must have at least 32 bytes")
        self._secret = secret

    def hash(self, key: str) -> str:
        """The hash of a key, as tenants' records hold it."""
        return hmac.new(self._secret, key.encode(), hashlib.sha256).hexdigest()


def write_private(path: Path, data: bytes) -> None:
    """Write a file that only its owner can read, whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(path)


def load_secret(path: Path) -> bytes:
    """The server's secret, made on first use."""
    if not path.exists():
        write_private(path, secrets.token_bytes(32))
    return path.read_bytes()
