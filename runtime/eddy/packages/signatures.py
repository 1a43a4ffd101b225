# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Signatures over application packages: who may add what tenants then run.

What is signed is the application as it is read from its package, as JSON with sorted keys: the same task graph has the
same signature, be its package YAML or JSON, and whatever its summary says.
"""

from __future__ import annotations

import dataclasses
import enum
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from eddy.core.applications import Application
from eddy.core.errors import InvalidRequest, PackageRefused
from eddy.host.trust import load_key, load_trusted_keys, verify_signature
from eddy.packages import fields
from eddy.packages.applications import parse_application

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

SIGNATURE = "signature"
"""The field of a package that has it, in hex."""
REFUSE, ALLOW = "refuse", "allow"


def canonical(application: Application) -> bytes:
    """The bytes a signature is over; they begin like nothing else that Eddy signs."""
    given = dataclasses.asdict(application)
    for buffer in given["buffers"]:
        if not buffer["picture"]:  # what was signed before buffers said so stays signed
            del buffer["picture"]
    body = json.dumps(given, sort_keys=True, separators=(",", ":"), default=_plain)
    return f"eddy application package\n{body}".encode()


def _plain(value: Any) -> Any:
    if isinstance(value, enum.Enum):
        return value.value
    raise TypeError(type(value).__name__)


def parse_package(raw: Any) -> tuple[Application, str]:
    """An application and its signature, "" where it has none, from a package's mapping.

    Raises:
        InvalidRequest: A field is missing, unknown or wrong.
    """
    given = dict(fields.mapping(raw, "application"))
    signature = given.pop(SIGNATURE, "")
    if not isinstance(signature, str):
        raise InvalidRequest("a signature is text in hexadecimal", field=SIGNATURE)
    return parse_application(given), signature


def signed(raw: Mapping[str, Any], key: Path) -> dict[str, Any]:
    """A package with its signature, in place of any other.

    Raises:
        InvalidRequest: The package is wrong, or the file holds no key.
    """
    application, _ = parse_package(raw)
    return {**raw, SIGNATURE: load_key(key).sign(canonical(application)).hex()}


@dataclass(frozen=True)
class PackageTrust:
    """Whose packages may be added.

    Attributes:
        required: Whether a package without a trusted signature is refused.
        keys: The public keys that are trusted.
    """

    required: bool = False
    keys: tuple[Ed25519PublicKey, ...] = ()

    @classmethod
    def load(cls, folder: str, unsigned: str) -> PackageTrust:
        """As the settings `trusted_packages` and `unsigned_packages` say.

        Raises:
            InvalidRequest: The folder has no key in it, or something else.
        """
        if not folder:
            return cls()
        path = Path(folder).expanduser()
        keys = load_trusted_keys(path)
        if not keys:
            message = f"{path} holds no key: copy the signer's public key there, as <name>.pub"
            raise InvalidRequest(message, field="trusted_packages")
        return cls(unsigned == REFUSE, keys)

    def check(self, application: Application, signature: str) -> None:
        """Refuse a package that may not be added. One with a signature that is wrong is refused even where none is
        needed, if there are keys to compare it with.

        Raises:
            PackageRefused: Says whether the signature is missing or wrong.
        """
        if signature and self.keys and not verify_signature(self.keys, signature, canonical(application)):
            raise PackageRefused(
                f"the signature of application {application.name} is not by a trusted key, or is over another package:"
                " sign it again with `eddy app sign`, or trust the signer's key",
                reason="untrusted-signature",
            )
        if self.required and not signature:
            raise PackageRefused(
                f"application {application.name} is not signed, and this server asks for it: use `eddy app sign`",
                reason="unsigned",
            )
