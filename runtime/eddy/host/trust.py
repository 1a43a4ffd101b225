# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Keys that sign and keys that are trusted: Ed25519 (RFC 8032), in PEM files.

What is signed with them says in its own first bytes what it is: an image's manifest, an application's package, a head
of the audit log. So a signature over one never passes for another.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from eddy.core.errors import InvalidRequest

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey


def load_trusted_keys(folder: Path | None) -> tuple[Ed25519PublicKey, ...]:
    """The keys of a folder's `*.pub` files; none without a folder.

    Raises:
        InvalidRequest: A file holds none.
    """
    return tuple(public_key(path) for path in sorted(folder.glob("*.pub"))) if folder else ()


def verify_signature(keys: Iterable[Ed25519PublicKey], signature: str, data: bytes) -> bool:
    """Whether a signature, in hex, is one of these keys' over these bytes."""
    from cryptography.exceptions import InvalidSignature

    for key in keys:
        try:
            key.verify(bytes.fromhex(signature), data)
            return True
        except (InvalidSignature, ValueError):
            continue
    return False


def public_key(path: Path) -> Ed25519PublicKey:
    """Read a public key.

    Raises:
        InvalidRequest: The file holds none.
    """
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
    from cryptography.hazmat.primitives.serialization import load_pem_public_key

    try:
        key = load_pem_public_key(path.read_bytes())
    except OSError as error:
        raise InvalidRequest(f"{path} cannot be read: {error.strerror}", field="trusted_keys") from None
    except ValueError as error:
        raise InvalidRequest(f"{path} is not a public key in PEM form: {error}", field="trusted_keys") from error
    if not isinstance(key, Ed25519PublicKey):
        raise InvalidRequest(f"{path} holds a {type(key).__name__}; Eddy uses Ed25519", field="trusted_keys")
    return key


def generate(path: Path) -> None:
    """Make a key pair: `path` (readable by its owner only) and `path` with `.pub` appended.

    Raises:
        InvalidRequest: The file exists, for keys are never overwritten; or it cannot be written.
    """
    from cryptography.hazmat.primitives import serialization as s
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    key = Ed25519PrivateKey.generate()
    private = key.private_bytes(s.Encoding.PEM, s.PrivateFormat.PKCS8, s.NoEncryption())
    public = key.public_key().public_bytes(s.Encoding.PEM, s.PublicFormat.SubjectPublicKeyInfo)
    try:
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(private)
    except FileExistsError:
        raise InvalidRequest(f"{path} exists; a key is never overwritten", field="path") from None
    except OSError as error:
        raise InvalidRequest(f"{path} cannot be written: {error.strerror}", field="path") from None
    try:
        Path(f"{path}.pub").write_bytes(public)
    except OSError as error:
        path.unlink()  # a private key without its public half serves nobody, and would stand in the way
        raise InvalidRequest(f"{path}.pub cannot be written: {error.strerror}", field="path") from None


def load_key(path: Path) -> Ed25519PrivateKey:
    """Read a private key.

    Raises:
        InvalidRequest: The file holds none.
    """
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    try:
        key = load_pem_private_key(path.read_bytes(), None)
    except OSError as error:
        raise InvalidRequest(f"{path} cannot be read: {error.strerror}", field="key") from None
    except (ValueError, TypeError) as error:
        raise InvalidRequest(f"{path} is not an unencrypted private key in PEM form: {error}", field="key") from error
    if not isinstance(key, Ed25519PrivateKey):
        raise InvalidRequest(f"{path} holds a {type(key).__name__}; Eddy uses Ed25519", field="key")
    return key
