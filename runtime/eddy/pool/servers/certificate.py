# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The certificate of a pool's servers: made once, with the folder, and signed by itself."""

from __future__ import annotations

import datetime
import ipaddress
from collections.abc import Iterable
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from eddy.host.files import write_private
from eddy.pool.connection.credentials import SERVER_NAME

CERTIFICATE_DAYS = 3650
LOOPBACK = "127.0.0.1"


def made_certificate(certificate: Path, key: Path, hosts: Iterable[str] = ()) -> None:
    """Write a certificate of the servers, signed by itself, and its private key; both PEM.

    Args:
        hosts: Names and addresses at which servers of a cluster reach each other: they check these. This machine's own
            is always one.
    """
    private = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, SERVER_NAME)])
    names = [x509.DNSName(SERVER_NAME), *map(_host_name, dict.fromkeys((LOOPBACK, *hosts)))]
    # Servers of a cluster check each other's dates.
    begins = datetime.datetime(2020, 1, 1, tzinfo=datetime.timezone.utc)
    ends = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(days=CERTIFICATE_DAYS)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(private.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(begins)
        .not_valid_after(ends)
        .add_extension(x509.SubjectAlternativeName(names), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(private, hashes.SHA256())
    )
    secret = private.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    write_private(key, secret)
    write_private(certificate, made.public_bytes(serialization.Encoding.PEM))


def _host_name(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)
