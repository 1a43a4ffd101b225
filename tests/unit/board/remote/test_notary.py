# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""boardd signs heads of the audit log: who owns the server's folder and secret cannot write the log again unseen."""

from __future__ import annotations

import dataclasses
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from eddy.api.access.keys import KeyHasher, load_secret
from eddy.board.remote.notary import KEY, LIST, SUFFIX, Notary, read_list, serve_notary, text, verify_head
from eddy.board.remote.notary_client import NotaryClient
from eddy.cli.main import app
from eddy.core.errors import BoardUnreachable, Conflict, InvalidRequest, StorageDamaged, StorageFull
from eddy.host.trust import public_key
from eddy.store import Store
from eddy.store.upkeep.folder import DataFolder
from typer.testing import CliRunner

CHAIN = "5f" * 32
OTHER = "a0" * 32


@pytest.fixture
def notary(tmp_path: Path) -> Notary:
    return Notary(tmp_path / "notary")


@pytest.fixture
def boardd(tmp_path: Path) -> Iterator[Path]:
    """The socket of a boardd, of which only the notary answers."""
    socket = tmp_path / "boardd.sock"
    with serve_notary(tmp_path / "notary", socket.with_name(socket.name + SUFFIX), 0o660):
        yield socket


def test_a_head_is_signed_once_and_numbers_only_grow(notary: Notary, tmp_path: Path) -> None:
    first = notary.sign(3, CHAIN)
    assert notary.sign(3, CHAIN) == first, "asked again, after an answer that was lost"
    later = notary.sign(7, OTHER)
    for number, chain in ((7, CHAIN), (6, CHAIN), (3, CHAIN), (1, OTHER)):
        with pytest.raises(Conflict, match="entry 7 was signed already"):
            notary.sign(number, chain)
    assert Notary(tmp_path / "notary").sign(7, OTHER) == later, "it remembers over a restart"
    assert read_list(tmp_path / "notary") == (first, later)
    key = public_key(tmp_path / "notary" / f"{KEY}.pub")
    assert verify_head(first, key)
    assert not verify_head(dataclasses.replace(first, number=4), key)
    assert not verify_head(dataclasses.replace(first, at_unix_s=0.0), key)
    assert stat.S_IMODE((tmp_path / "notary" / KEY).stat().st_mode) == 0o600
    assert text(1, CHAIN, 0.0).startswith(b"eddy audit head\n"), "no image's manifest begins so"


@pytest.mark.parametrize(("number", "chain"), [(0, CHAIN), (-1, CHAIN), (1, "short"), (1, "g" * 64), (1, CHAIN + "0")])
def test_what_is_no_head_is_not_signed(notary: Notary, number: int, chain: str) -> None:
    with pytest.raises(InvalidRequest, match="a head is a number"):
        notary.sign(number, chain)


def test_a_list_that_was_changed_is_damaged_and_half_a_line_is_not(notary: Notary, tmp_path: Path) -> None:
    for number in (1, 2, 3):
        notary.sign(number, CHAIN)
    path = tmp_path / "notary" / LIST
    good = path.read_text()
    lines = good.splitlines(keepends=True)
    for bad in (
        good.replace(CHAIN, OTHER, 1),
        "".join([lines[1], lines[0], lines[2]]),
        lines[0] + lines[0] + lines[2],
        good + "nonsense\n",
        good.replace("2 ", "9 ", 1),
    ):
        path.write_text(bad)
        with pytest.raises(StorageDamaged, match=r"audit\.heads is not what was written \(line"):
            Notary(tmp_path / "notary")
    path.write_text(good + lines[2][:30])  # the power went
    again = Notary(tmp_path / "notary")
    assert again.sign(4, CHAIN).number == 4
    assert [head.number for head in read_list(tmp_path / "notary")] == [1, 2, 3, 4]


def test_a_full_disk_signs_nothing_and_spoils_nothing(
    notary: Notary, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    notary.sign(1, CHAIN)
    real = os.write

    def half(file: int, data: bytes) -> int:
        real(file, data[:10])
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr("eddy.board.remote.notary.os.write", half)
        with pytest.raises(StorageFull):
            notary.sign(2, CHAIN)
    notary.sign(2, OTHER)
    assert [head.number for head in read_list(tmp_path / "notary")] == [1, 2]


def test_over_the_socket(boardd: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    client = NotaryClient(boardd)
    for number in range(1, 4):
        client.announce(number, CHAIN)
    assert client.heads() == read_list(tmp_path / "notary")
    client.announce(2, OTHER)
    client.announce(1, OTHER)
    said = [message for message in caplog.messages if "did not sign" in message]
    assert len(said) == 1, "not again and again"
    client.announce(4, CHAIN)
    assert any("signs again" in message for message in caplog.messages)
    for question in ({"nonsense": 1}, {"sign": [1]}, {"sign": "x"}):
        with pytest.raises(Conflict, match="ask"):
            client._ask(question)
    assert stat.S_IMODE(boardd.with_name(boardd.name + SUFFIX).stat().st_mode) == 0o660


def test_a_boardd_that_is_away_holds_nothing_up(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    client = NotaryClient(tmp_path / "nobody.sock")
    client.announce(1, CHAIN)
    assert "boardd did not sign entry 1" in caplog.text
    with pytest.raises(BoardUnreachable, match="start `eddy boardd`"):
        client.heads()


class Owner:
    """Who owns the server's folder: everything in it, and the secret."""

    def __init__(self, path: Path, boardd: Path | None) -> None:
        data = DataFolder(path)
        self.hasher = KeyHasher(load_secret(data.secret, data.first_start))
        self.store = Store(data.database)
        if data.first_start:
            self.store.audit.begin(self.hasher.hash)
        if boardd is not None:
            self.store.audit.announce = NotaryClient(boardd).announce
            self.store.audit.announce_head()
        data.settle()
        self.data = data

    def note(self, *slots: int) -> None:
        for slot in slots:
            self.store.audit.note(self.hasher.hash, "operator", "k1", "drain-slot", {"slot": slot})

    def close(self) -> None:
        self.store.close()
        self.data.close()


def verified(path: Path, *options: str) -> tuple[int, str]:
    done = CliRunner().invoke(app, ["audit", "verify", "--data", str(path), *options])
    return done.exit_code, done.stderr


def test_the_owner_of_folder_and_secret_is_found_out(boardd: Path, tmp_path: Path) -> None:
    real = Owner(tmp_path / "real", boardd)
    real.note(1, 2, 3, 4)
    real.close()
    socket, folder = ("--boardd", str(boardd)), ("--notary", str(tmp_path / "notary"))
    for how in (socket, folder):
        code, said = verified(tmp_path / "real", *how)
        assert (code, "boardd signed entry 4; the head" in said) == (0, True), said
    # The log written again, with everything the owner has: whole in itself, and not what boardd signed.
    forged = Owner(tmp_path / "forged", None)
    forged.note(1, 9, 3, 4)
    forged.close()
    assert verified(tmp_path / "forged")[0] == 0
    code, said = verified(tmp_path / "forged", *socket)
    assert (code, "entry 1 is another one than boardd signed" in said) == (1, True), said
    # An older state of both files.
    older = Owner(tmp_path / "older", None)
    older.close()
    assert verified(tmp_path / "older")[0] == 0
    assert "boardd signed entry 1, and the log ends before" in verified(tmp_path / "older", *folder)[1]


def test_a_folder_that_is_no_boardds_and_a_list_that_was_removed_prove_nothing(tmp_path: Path, boardd: Path) -> None:
    owner = Owner(tmp_path / "data", boardd)
    owner.note(1, 2)
    owner.close()
    code, said = verified(tmp_path / "data", "--notary", str(tmp_path / "nowhere"))
    assert (code, "is not where a boardd keeps its signatures" in said) == (2, True), said
    (tmp_path / "notary" / LIST).unlink()
    for where in (["--notary", str(tmp_path / "notary")], ["--boardd", str(boardd)]):
        code, said = verified(tmp_path / "data", *where)
        assert (code, "boardd has signed no entry of this log" in said) == (1, True), said


def test_what_was_noted_while_boardd_was_away_is_said_and_signed_at_the_next_start(tmp_path: Path) -> None:
    path, socket = tmp_path / "data", tmp_path / "boardd.sock"
    away = Owner(path, socket)
    away.note(1, 2)
    away.close()
    with serve_notary(tmp_path / "notary", socket.with_name(socket.name + SUFFIX), 0o660):
        back = Owner(path, socket)
        assert [head.number for head in read_list(tmp_path / "notary")] == [2]
        back.store.audit.announce = lambda *_: None
        back.note(3)
        back.close()
    code, said = verified(path, "--notary", str(tmp_path / "notary"))
    assert (code, "boardd signed entry 2, and has not signed 1 after that" in said) == (0, True)
    assert verified(path, "--boardd", str(socket))[0] == 5, "where nobody answers, nothing is proven"


def test_every_boardd_has_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The daemon itself, as far as its board: the notary answers while it serves, and is gone after it."""
    from eddy.board.remote import boardd as daemon

    seen: list[Any] = []

    class Board:
        pass

    class Fake:
        def __init__(self, *_: Any) -> None:
            self.path = tmp_path / "b.sock"

        def stop(self) -> None:
            pass

        def run(self) -> None:
            NotaryClient(self.path).announce(1, CHAIN)
            seen.extend(NotaryClient(self.path).heads())

    monkeypatch.setattr(daemon, "PynqBoard", Board)
    monkeypatch.setattr(daemon, "open_board", lambda *_, **__: Board())
    monkeypatch.setattr(daemon, "Boardd", Fake)
    daemon.serve("rtl", tmp_path / "b.sock", progress=lambda _: None)
    assert [head.number for head in seen] == [1]
    assert (tmp_path / "b.sock.notary" / LIST).exists()
    assert not (tmp_path / f"b.sock{SUFFIX}").exists()
