# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""TLS of the API itself: a certificate and its key, from files that may be replaced while the server runs."""

from __future__ import annotations

import ipaddress
import ssl
from dataclasses import dataclass
from pathlib import Path

from eddy.core.errors import InvalidRequest
from eddy.host.files import is_exposed


@dataclass(frozen=True, slots=True)
class TlsFiles:
    """Where certificate and key lie, both in PEM form.

    Attributes:
        certificate: The server's, followed by those that lead to a known one.
        key: Its private key, without a password.
    """

    certificate: Path
    key: Path

    @classmethod
    def named(cls, certificate: str, key: str) -> TlsFiles | None:
        """Those two settings name; None where neither is set.

        Raises:
            InvalidRequest: One is set without the other, or they cannot be used.
        """
        if not certificate and not key:
            return None
        if not (certificate and key):
            missing = "tls_key" if certificate else "tls_cert"
            message = f"--{missing.replace('_', '-')} is missing: a certificate and its key go together."
            raise InvalidRequest(message, field=missing)
        found = cls(Path(certificate).expanduser(), Path(key).expanduser())
        found.load_into(ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER))
        return found

    def load_into(self, context: ssl.SSLContext) -> None:
        """Have new connections use them.

        Raises:
            InvalidRequest: They cannot be read, or do not belong together.
        """
        for path, field in ((self.certificate, "tls_cert"), (self.key, "tls_key")):
            try:
                path.open("rb").close()
            except OSError as error:
                message = f"{path} cannot be read ({error.strerror}): name the file --{field.replace('_', '-')} means."
                raise InvalidRequest(message, field=field) from None
        try:
            # An encrypted key would be asked for on the terminal; there may be nobody.
            context.load_cert_chain(self.certificate, self.key, password=lambda: "")
        except (ssl.SSLError, ValueError) as error:
            reason = error.reason if isinstance(error, ssl.SSLError) and error.reason else str(error)
            raise InvalidRequest(
                f"{self.certificate} and {self.key} cannot be used together ({reason}): give a certificate in PEM form"
                " and its own private key, without a password.",
                field="tls_key",
            ) from None

    @property
    def key_is_loose(self) -> bool:
        """Whether others than its owner can read the key."""
        return is_exposed(self.key)


def is_plaintext(host: str, tls: TlsFiles | None) -> bool:
    """Whether what is sent to an address can be read on a network."""
    if tls is not None or host == "localhost":
        return False
    try:
        return not ipaddress.ip_address(host).is_loopback
    except ValueError:
        return True
