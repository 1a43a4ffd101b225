# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Who may speak to the pool's NATS servers: a key pair for each board and for the heads, and the servers' certificate.

Keys are NKeys: Ed25519, written as NATS writes them (base32 of kind, key and CRC-16). A server holds public keys only
and asks for a signature over a number of its own, so nothing that opens the pool is ever sent. Servers that somebody
else runs may know their users by passwords or tokens, which are in URLs, or by credentials files of NATS.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
import ssl
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from urllib.parse import urlsplit

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from eddy.core.errors import EddyError
from eddy.host.files import write_private

SERVER_NAME = "eddy-pool"
"""What the certificate names. Servers are known by this certificate, whatever address they are reached at."""
NO_CHECK_TIME = ssl.VerifyFlags(0x200000)
"""X509_V_FLAG_NO_CHECK_TIME, which Python has no name for.  Source: OpenSSL, X509_VERIFY_PARAM_set_flags(3)."""
_SEED, _USER = 18 << 3, 20 << 3


NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
"""Names of boards."""
_CREDS = re.compile(
    r"-----BEGIN NATS USER JWT-----\s+(\S+)\s+-+END NATS USER JWT-+.*?"
    r"-----BEGIN USER NKEY SEED-----\s+(\S+)\s+-+END USER NKEY SEED-+",
    re.DOTALL,
)
"""What `nsc` writes: a JWT that says who somebody is, and the key that proves it.  Source: NATS, ADR-14."""


class PoolUnreachable(EddyError):
    """No server of the pool answers."""

    code = "pool-unreachable"


class PoolReplaced(PoolUnreachable):
    """The servers keep another pool, or none, since this began."""


class UserKey:
    """A user's key pair.

    Args:
        secret: 32 bytes; made at random where none are given.
    """

    def __init__(self, secret: bytes = b"") -> None:
        self._key = Ed25519PrivateKey.from_private_bytes(secret) if secret else Ed25519PrivateKey.generate()

    @classmethod
    def from_seed(cls, seed: str) -> UserKey:
        """The key pair of a seed.

        Raises:
            PoolUnreachable: It is none.
        """
        try:
            raw = base64.b32decode(seed + "=" * (-len(seed) % 8))
        except ValueError:
            raw = b""
        if len(raw) != 36 or raw[:2] != _seed_kind() or _written(raw[:-2]) != seed:
            raise PoolUnreachable("The pool's file has a damaged key; have the board admitted again.")
        return cls(raw[2:-2])

    @property
    def seed(self) -> str:
        """The secret half, 58 characters from `SU`."""
        return _written(_seed_kind() + self._key.private_bytes_raw())

    @property
    def public(self) -> str:
        """The public half, 56 characters from `U`."""
        return _written(bytes([_USER]) + self._key.public_key().public_bytes_raw())

    def sign(self, nonce: str) -> bytes:
        """A signature over a server's number, base64."""
        return base64.b64encode(self._key.sign(nonce.encode()))


def _seed_kind() -> bytes:
    return bytes([_SEED | _USER >> 5, (_USER & 31) << 3])


def _written(raw: bytes) -> str:
    return base64.b32encode(raw + binascii.crc_hqx(raw, 0).to_bytes(2, "little")).decode().rstrip("=")


@dataclass(frozen=True, slots=True)
class PoolAccess:
    """How one board, or the heads, reach the pool.

    Attributes:
        urls: Of its servers, separated by commas; "" where none was ever started.
        name: Of the board; "" for heads, and for a cluster with users of its own.
        seed: Of its key; "" where the URL says who it is.
        certificate: Of the servers, PEM; "" without TLS, or where the system knows who signed it.
        jwt: Of a credentials file, which says who has the key; "" where the servers know the key itself.
    """

    urls: str
    name: str = ""
    seed: str = ""
    certificate: str = ""
    jwt: str = ""

    @staticmethod
    def named(pool: str, creds: str = "") -> PoolAccess:
        """From a URL, or from the file that `eddy pool up` or `eddy pool admit` wrote.

        Args:
            pool: Either.
            creds: A credentials file of NATS, which says who connects; "" where the URL or file does.

        Raises:
            PoolUnreachable: It is neither, or it is damaged.
        """
        return _with_creds(_named(pool), creds)._checked() if creds else _named(pool)._checked()

    def _checked(self) -> PoolAccess:
        """This, where it is not damaged.

        Raises:
            PoolUnreachable: It is.
        """
        for url in self.urls.split(",") if self.urls else ():
            if not _is_server(url.strip()):
                shown = url.rsplit("@", 1)[-1]  # before it, somebody's secret may be
                message = f"{shown!r} is no address of a pool's server: write tls://HOST:PORT, several with commas."
                raise PoolUnreachable(message, pool=shown)
        if self.name and not NAME.fullmatch(self.name):
            raise PoolUnreachable("The pool's file names no board; have the board admitted again.", pool=self.name)
        if self.seed:
            UserKey.from_seed(self.seed)
        self.tls()
        return self

    def write(self, path: Path) -> None:
        """Write it for its owner alone to read."""
        # Releases that know no credentials files read what has none.
        kept = {name: value for name, value in asdict(self).items() if value or name != "jwt"}
        write_private(path, json.dumps(kept, indent=1).encode())

    def tls(self) -> ssl.SSLContext | None:
        """What a connection trusts: this certificate and no other, whatever the date is said to be: that of a board
        without a clock battery may be any.

        Raises:
            PoolUnreachable: The certificate is damaged.
        """
        if not self.certificate:
            return None
        try:
            context = ssl.create_default_context(cadata=self.certificate)
        except (ssl.SSLError, ValueError, TypeError) as failure:
            message = "The pool's file has a damaged certificate; have the board admitted again."
            raise PoolUnreachable(message) from failure
        context.verify_flags |= NO_CHECK_TIME
        return context


def _named(pool: str) -> PoolAccess:
    if "://" in pool:
        return PoolAccess(pool)
    try:
        access = PoolAccess(**json.loads(Path(pool).expanduser().read_text(encoding="utf-8")))
        if not all(isinstance(each, str) for each in asdict(access).values()):
            raise TypeError
    except (OSError, RecursionError, ValueError, TypeError) as failure:
        reason = failure.strerror if isinstance(failure, OSError) else "its content is something else"
        message = f"{pool} is no URL, and no file that `eddy pool admit` wrote: {reason}."
        raise PoolUnreachable(message, pool=pool) from failure
    return access


def _with_creds(access: PoolAccess, creds: str) -> PoolAccess:
    """As whom a credentials file says.

    Raises:
        PoolUnreachable: It is none.
    """
    try:
        found = _CREDS.search(Path(creds).expanduser().read_text(encoding="utf-8"))
    except (OSError, ValueError) as failure:
        reason = failure.strerror if isinstance(failure, OSError) else "it is no text"
        raise PoolUnreachable(f"{creds} cannot be read: {reason}.", pool=creds) from failure
    if found is None:
        message = f"{creds} is no credentials file of NATS: one has a user's JWT and the seed of its key."
        raise PoolUnreachable(message, pool=creds)
    return replace(access, jwt=found[1], seed=found[2])


def _is_server(url: str) -> bool:
    try:
        parts = urlsplit(url)
        return parts.scheme in ("nats", "tls") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False
