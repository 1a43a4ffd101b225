# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""A certificate of this machine, signed with its own key."""

from __future__ import annotations

import datetime
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from eddy.api.service.tls import TlsFiles


def make_certificate(folder: Path, name: str = "localhost") -> TlsFiles:
    """Make one for `localhost`, whose subject is `name`; its files."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    now = datetime.datetime.now(datetime.timezone.utc)
    hosts = x509.SubjectAlternativeName([x509.DNSName("localhost")])
    made = x509.CertificateBuilder().subject_name(subject).issuer_name(subject).public_key(key.public_key())
    made = made.serial_number(x509.random_serial_number()).add_extension(hosts, critical=False)
    made = made.not_valid_before(now).not_valid_after(now + datetime.timedelta(days=2))
    files = TlsFiles(folder / "cert.pem", folder / "key.pem")
    files.certificate.write_bytes(made.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM))
    form = serialization.PrivateFormat.PKCS8
    files.key.write_bytes(key.private_bytes(serialization.Encoding.PEM, form, serialization.NoEncryption()))
    files.key.chmod(0o600)
    return files
