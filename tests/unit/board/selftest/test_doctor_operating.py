# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""`eddy doctor` on a server that is left running: each thing that can be wrong is found, with what helps."""

from __future__ import annotations

import datetime
import sqlite3
import time
from collections.abc import Iterable
from contextlib import closing
from email.utils import format_datetime
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from eddy.board.remote.notary import SUFFIX, serve_notary
from eddy.cli.boards import doctor_operating as doctor
from eddy.store import Store
from eddy.store.db.schema import MIGRATIONS

NOW_S = 1_800_000_000.0


def one(found: Iterable[doctor.Finding]) -> doctor.Finding:
    (finding,) = found
    check, ok, said, advice = finding
    assert check and said  # noqa: PT018
    assert ok or advice, "who is told what is wrong is told what helps"
    return finding


@pytest.fixture
def data(tmp_path: Path) -> Path:
    store = Store(tmp_path / "eddy.sqlite3")
    store.audit.note(lambda text: "0" * 64, "operator", "k1", "drain-slot", {})
    store.close()
    return tmp_path


def test_a_clock_that_cannot_be_right(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "_kept_in_time", lambda: None)
    assert one(doctor.clock(time.time(), data))[1]
    assert "before this Eddy was made" in one(doctor.clock(86_400.0, data))[2]
    found = one(doctor.clock(time.time() - 3600, data))
    assert (found[1], "has an entry from" in found[2]) == (False, True)
    monkeypatch.setattr(doctor, "_kept_in_time", lambda: False)
    found = one(doctor.clock(time.time(), data / "nothing"))
    assert (found[1], "timedatectl" in found[3]) == (False, True)


def test_a_schema_that_is_too_new_or_old(data: Path) -> None:
    assert one(doctor.schema(data))[1:3] == (True, f"{len(MIGRATIONS)}, the newest")
    for version, ok, says in ((len(MIGRATIONS) + 1, False, "knows"), (1, True, "eddy backup")):
        with closing(sqlite3.connect(data / "eddy.sqlite3")) as db:
            db.execute(f"PRAGMA user_version = {version}")
        found = one(doctor.schema(data))
        assert (found[1], says in found[2]) == (ok, True)
    assert not list(doctor.schema(data / "nothing"))


def test_a_boardd_that_is_away_or_something_else(tmp_path: Path) -> None:
    path = tmp_path / "b.sock"
    environment = {"EDDY_BOARDD": str(path)}
    assert not list(doctor.boardd({}))
    assert "nothing at" in one(doctor.boardd(environment))[2]
    path.write_text("")
    assert "is no socket" in one(doctor.boardd(environment))[2]
    path.unlink()
    with serve_notary(tmp_path / "n1", path, 0o660):  # its own socket, and no notary next to it
        assert "nobody signs" in one(doctor.boardd(environment))[2]
        with serve_notary(tmp_path / "n2", path.with_name(path.name + SUFFIX), 0o660):
            assert one(doctor.boardd(environment))[1]


def certificate(folder: Path, days: int) -> dict[str, str]:
    """Settings that name a certificate which ends in so many days after `NOW_S`."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "board")])
    ends = datetime.datetime.fromtimestamp(NOW_S, datetime.timezone.utc) + datetime.timedelta(days=days, hours=1)
    made = x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key()).serial_number(7)
    made = made.not_valid_before(ends - datetime.timedelta(days=90)).not_valid_after(ends)
    (folder / "c.pem").write_bytes(made.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM))
    form, none = serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    (folder / "k.pem").write_bytes(key.private_bytes(serialization.Encoding.PEM, form, none))
    (folder / "k.pem").chmod(0o600)
    return {"EDDY_TLS_CERT": str(folder / "c.pem"), "EDDY_TLS_KEY": str(folder / "k.pem")}


def test_a_certificate_that_ends_or_cannot_be_used(tmp_path: Path) -> None:
    assert not list(doctor.certificate({}, NOW_S))
    for days, ok, says in ((60, True, "valid for 60 days"), (3, False, "ends in 3 days"), (-2, False, "has ended")):
        found = one(doctor.certificate(certificate(tmp_path, days), NOW_S))
        assert (found[1], says in found[2]) == (ok, True), found
    environment = certificate(tmp_path, 60)
    (tmp_path / "k.pem").chmod(0o644)
    assert "chmod 600" in one(doctor.certificate(environment, NOW_S))[3]
    (tmp_path / "k.pem").unlink()
    assert "cannot be read" in one(doctor.certificate(environment, NOW_S))[2]


def slot(number: int, phase: str = "idle", because: str = "") -> dict[str, Any]:
    return {"slot": number, "phase": phase, "drained": bool(because), "drained_because": because}


def test_slots_that_are_closed_away_or_drained() -> None:
    assert not list(doctor.slots([]))
    assert one(doctor.slots([slot(0), slot(1, "running")]))[1]
    assert "slots 1" in one(doctor.slots([slot(0), slot(1, "faulted")]))[2]
    assert "the board is away" in one(doctor.slots([slot(0, "unknown")]))[2]
    _, drained = doctor.slots([slot(0), slot(3, because="5 loads in a row failed")])
    assert drained == ("slot 3", False, "5 loads in a row failed", "once it is mended: `eddy undrain 3`")


def test_versions_and_clocks_of_client_and_server(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.metadata.version", lambda _: "1.2.3")
    now = datetime.datetime.fromtimestamp(NOW_S, datetime.timezone.utc)
    date = format_datetime(now, usegmt=True)
    late = format_datetime(now + datetime.timedelta(seconds=90), usegmt=True)
    same = list(doctor.server('eddy_build{version="1.2.3"} 1.0\n', date, NOW_S))
    assert [finding[1] for finding in same] == [True, True]
    versions, clocks = doctor.server('x 1\neddy_build{version="1.3.0"} 1.0\n', late, NOW_S)
    assert (versions[1], versions[2]) == (False, "1.2.3 here, 1.3.0 at the server")
    assert (clocks[1], clocks[2]) == (False, "the server's is 90 s ahead")
