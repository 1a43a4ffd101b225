# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""A board through a gateway: the port as ever for who has a key, and nothing for anybody else."""

from __future__ import annotations

import contextlib
import dataclasses
import datetime
import ipaddress
import signal
import socket
import ssl
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import pytest
from contract.harness import Harness, fake, marking, socketed
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from eddy.board.port import wire
from eddy.board.port.port import EventKind
from eddy.board.remote.gateway import GREETING_BYTES, Gateway, signed
from eddy.board.remote.socket import SocketBoard
from eddy.core.errors import BoardUnreachable, Conflict, InvalidRequest, Unauthorized
from eddy.host.trust import generate, load_key
from eddy.pool.servers.nats_server import free_port

WAIT_S = 180.0


def certificate(folder: Path, name: str) -> Path:
    """A certificate for this machine, signed with its own key, which lies beside it."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    now = datetime.datetime.now(datetime.timezone.utc)
    here = x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))])
    made = x509.CertificateBuilder().subject_name(subject).issuer_name(subject).public_key(key.public_key())
    made = made.serial_number(x509.random_serial_number()).add_extension(here, critical=False)
    made = made.not_valid_before(now).not_valid_after(now + datetime.timedelta(days=2))
    pem = serialization.Encoding.PEM
    (folder / f"{name}.pem").write_bytes(made.sign(key, hashes.SHA256()).public_bytes(pem))
    form, plain = serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    (folder / f"{name}-key.pem").write_bytes(key.private_bytes(pem, form, plain))
    return folder / f"{name}.pem"


@dataclass
class Site:
    """A board with a gateway.

    Attributes:
        harness: The board as who is beside it has it.
        port: Where the gateway listens.
    """

    harness: Harness
    folder: Path
    port: int
    process: subprocess.Popen[str]

    def way(self, key: str = "alice", authority: str = "gateway", host: str = "127.0.0.1") -> Gateway:
        return Gateway.named(
            f"tls://{host}:{self.port}", self.folder / "private" / key, self.folder / f"{authority}.pem"
        )


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    """A gateway to a fake board, opened by alice's key."""
    (tmp_path / "private").mkdir()
    (tmp_path / "keys").mkdir()
    for name in ("alice", "mallory"):
        generate(tmp_path / "private" / name)
    (tmp_path / "private/alice.pub").rename(tmp_path / "keys/alice.pub")
    certificate(tmp_path, "another")
    made = certificate(tmp_path, "gateway")
    command = [sys.executable, "-m", "eddy", "gateway", f"--keys={tmp_path / 'keys'}", f"--tls-cert={made}"]
    command += [f"--tls-key={tmp_path / 'gateway-key.pem'}", f"--socket={tmp_path / 'boardd.sock'}"]
    with contextlib.ExitStack() as ending:
        harness = socketed(fake(tmp_path / "board"), tmp_path)
        ending.callback(harness.close)
        harness.board.release()
        process = subprocess.Popen([*command, "--listen=127.0.0.1:0"], stderr=subprocess.PIPE, text=True)
        ending.callback(ended, process)
        assert process.stderr is not None
        port = int(process.stderr.readline().rpartition(" ")[2])
        yield Site(harness, tmp_path, port, process)


def ended(process: subprocess.Popen[str]) -> str:
    """End the gateway in good order; what it said."""
    if process.poll() is not None:
        return ""
    process.send_signal(signal.SIGTERM)
    _, said = process.communicate(timeout=WAIT_S)
    assert process.returncode == 0, said
    assert "Traceback" not in said
    return said


def test_without_a_host_it_is_reached_at_every_address(site: Site) -> None:
    port = free_port("0.0.0.0")
    command = [each for each in cast("list[str]", site.process.args) if not each.startswith("--listen")]
    with subprocess.Popen([*command, f"--listen=:{port}"], stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        assert process.stderr.readline().endswith(f"port {port}\n")
        board = SocketBoard(dataclasses.replace(site.way(), port=port))
        assert board.describe().profile == "tiny"
        board.release()
        ended(process)


def test_a_key_opens_the_board_as_if_beside_it(site: Site) -> None:
    board = SocketBoard(site.way())
    remote = Harness(board, site.harness.misload, lambda: board, site.harness.folder)
    assert remote.load(0).kind is EventKind.CONFIGURED
    buffer = board.allocate(4 << 20, "notebook")
    data = bytes(range(256)) * (buffer.bytes // 256)
    board.write(buffer.id, 0, data)
    assert board.read(buffer.id, 0, len(data)) == data, "longer than any piece of it that is passed on"
    board.launch(0, marking(buffer, limit_s=1.0))
    (done,) = board.wait(board.now_s() + 2.0)
    assert done.kind is EventKind.ITEM_DONE
    with pytest.raises(Conflict, match="has the board"):
        SocketBoard(site.way())
    instance = board.instance
    board.release()
    assert board.state().buffers, "who hangs up and comes again finds all as it was"
    assert board.instance == instance
    board.release()


def test_a_key_that_is_not_in_the_folder_opens_nothing_and_one_put_there_does(site: Site) -> None:
    with pytest.raises(Unauthorized, match="no key of this gateway"):
        SocketBoard(site.way("mallory"))
    (site.folder / "private/mallory.pub").rename(site.folder / "keys/mallory.pub")
    SocketBoard(site.way("mallory")).release()
    (site.folder / "keys/mallory.pub").unlink()
    with pytest.raises(Unauthorized):
        SocketBoard(site.way("mallory"))
    said = ended(site.process)
    assert said.count("came in as mallory") == 1
    assert said.count("was not let in") == 2


def test_another_certificate_or_name_is_not_taken_for_the_board(site: Site) -> None:
    for way in (site.way(authority="another"), site.way(host="localhost")):
        with pytest.raises(BoardUnreachable, match="certificate"):
            SocketBoard(way)


def test_a_signature_that_was_heard_opens_nothing(site: Site) -> None:
    """Nor one for another gateway, whose certificate the caller was shown."""
    key, mine = load_key(site.folder / "private/alice"), site.way()
    shown = ssl.PEM_cert_to_DER_cert((site.folder / "gateway.pem").read_text())
    other = ssl.PEM_cert_to_DER_cert((site.folder / "another.pem").read_text())
    for nonce, der in (("0" * 64, shown), ("", other)):
        with mine.context.wrap_socket(
            socket.create_connection(("127.0.0.1", site.port), WAIT_S), server_hostname="127.0.0.1"
        ) as caller:
            said = received(caller)["nonce"]
            caller.sendall(wire.Frame({"signature": key.sign(signed(nonce or said, der)).hex()}).encode())
            assert received(caller)["error"]["code"] == "unauthorized"
            assert caller.recv(1) == b"", "and is hung up on"


def received(caller: ssl.SSLSocket) -> dict[str, Any]:
    decoder = wire.Decoder()
    while (frame := decoder.next()) is None:
        decoder.feed(caller.recv(1 << 16))
    return frame.head


@pytest.mark.parametrize(
    "sent",
    [
        wire.LENGTHS.pack(GREETING_BYTES + 1, 0) + b"{" * 100,
        wire.LENGTHS.pack(2, 1 << 20) + b"{}",
        wire.LENGTHS.pack(4, 0) + b"[[[[",
        wire.Frame({"signature": None}).encode(),
        wire.Frame({"hello": wire.NAME, "protocol": wire.PROTOCOL}).encode(),
    ],
)
def test_who_says_anything_else_hears_why_and_reaches_no_boardd(site: Site, sent: bytes) -> None:
    with site.way().context.wrap_socket(
        socket.create_connection(("127.0.0.1", site.port), WAIT_S), server_hostname="127.0.0.1"
    ) as caller:
        received(caller)
        caller.sendall(sent)
        assert received(caller)["error"]["code"] in ("invalid-request", "unauthorized")
    board = SocketBoard(site.way())
    assert board.state().slots
    board.release()


def test_a_caller_without_tls_gets_nothing(site: Site) -> None:
    with socket.create_connection(("127.0.0.1", site.port), WAIT_S) as caller:
        caller.sendall(wire.Frame({"hello": wire.NAME, "protocol": wire.PROTOCOL}).encode())
        heard = caller.recv(1 << 16)
        assert b"{" not in heard


def test_a_gateway_that_nobody_could_open_does_not_start(tmp_path: Path) -> None:
    made = certificate(tmp_path, "gateway")
    command = [sys.executable, "-m", "eddy", "gateway", f"--keys={tmp_path}", f"--tls-cert={made}"]
    for options, said in (
        ((f"--tls-key={tmp_path / 'gateway-key.pem'}",), "every caller would be refused"),
        ((f"--tls-key={tmp_path / 'gateway-key.pem'}", "--listen=here"), "no address to listen on"),
        ((), "--tls-key is missing"),
    ):
        done = subprocess.run([*command, *options], capture_output=True, text=True, timeout=WAIT_S)
        assert done.returncode == 2, done.stderr
        assert said in done.stderr
    with pytest.raises(InvalidRequest, match="no address of a gateway"):
        Gateway.named("tls://board", tmp_path / "key", made)
