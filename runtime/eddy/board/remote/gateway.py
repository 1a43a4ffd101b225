# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""A gateway to a board for operators elsewhere: TLS, an Ed25519 key, and then the board port as boardd speaks it.

It replaces PYNQ.remote, whose server takes calls from anybody who reaches it. `eddy gateway` runs on the board beside
a `boardd`, and lets in who holds a private key to one of the public ones in a folder; from then on it passes bytes on,
and boardd's own rules hold: one client at a time, images signed where the profile asks for it. Calls reach the board
itself, past tenants and jobs, so a key opens everything. The folder is read again for every caller.

::

    caller                                      gateway
                                            <-   {"gateway": 1, "nonce": "5f..."}
    {"signature": "ab..."}                  ->
                                            <-   {"gateway": 1, "name": "alice"}   or   {"error": {...}}

The signature is over a first line of its own, the nonce, and the SHA-256 of the certificate that the caller was shown:
it opens this gateway, once.
"""

from __future__ import annotations

import asyncio
import hashlib
import secrets
import socket
import ssl
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from eddy.board.port import wire
from eddy.core.errors import BoardUnreachable, EddyError, InvalidRequest, Unauthorized
from eddy.host.trust import load_key, public_key, verify_signature

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

VERSION = 1
GREETING_BYTES = 4096
"""Longest message of a caller who has not shown a key yet."""
GREETING_S = 10.0
"""Wall time a caller has to show one, TLS included."""
CALLERS = 16
"""Connections at a time; further ones are closed at once."""
_PIECE = 1 << 18


def signed(nonce: str, certificate: bytes) -> bytes:
    """What a caller signs.

    Args:
        nonce: As the gateway said it.
        certificate: The one the caller was shown, in DER form.
    """
    return f"eddy gateway\n{nonce}\n{hashlib.sha256(certificate).hexdigest()}\n".encode()


@dataclass(frozen=True)
class Gateway:
    """A way to a board through a gateway, for `eddy.board.remote.socket.SocketBoard`.

    Attributes:
        host: Name of the board, as its certificate has it.
        port: Where `eddy gateway` listens.
        key: The caller's.
        context: Whom the caller trusts to say which board it is.
    """

    host: str
    port: int
    key: Ed25519PrivateKey
    context: ssl.SSLContext

    @classmethod
    def named(cls, address: str, key: Path, authority: Path) -> Gateway:
        """The gateway at an address.

        Args:
            address: As ``board.example:7443``.
            key: File of the caller's private key.
            authority: The gateway's certificate, or that of who signed it, in PEM form.

        Raises:
            InvalidRequest: The address is none, or a file holds not what it should.
        """
        host, _, port = address.removeprefix("tls://").rpartition(":")
        if not host or not port.isdecimal():
            raise InvalidRequest(f"{address!r} is no address of a gateway: say tls://HOST:PORT", field="boardd")
        try:
            context = ssl.create_default_context(cafile=str(authority))
        except (OSError, ssl.SSLError) as error:
            message = f"{authority} holds no certificate in PEM form ({error}); give the gateway's own"
            raise InvalidRequest(message, field="gateway_ca") from None
        return cls(host.strip("[]"), int(port), load_key(key), context)

    def __str__(self) -> str:
        return f"tls://{self.host}:{self.port}"

    def connect(self, patience_s: float) -> socket.socket:
        """A connection to boardd through the gateway.

        Raises:
            BoardUnreachable: Nobody answers, or not with the certificate that was asked for.
            Unauthorized: The gateway knows no such key.
        """
        try:
            plain = socket.create_connection((self.host, self.port), patience_s)
        except OSError as error:
            raise BoardUnreachable(
                f"no gateway answers at {self} ({error}); start `eddy gateway` on the board"
            ) from error
        connection: socket.socket = plain
        try:
            connection = tls = self.context.wrap_socket(plain, server_hostname=self.host)
            greeting = _received(tls)
            certificate = tls.getpeercert(binary_form=True) or b""
            signature = self.key.sign(signed(str(greeting.get("nonce")), certificate)).hex()
            tls.sendall(wire.Frame({"signature": signature}).encode())
            answer = _received(tls)
        except (OSError, InvalidRequest) as error:
            connection.close()
            raise BoardUnreachable(
                f"the gateway at {self} did not open ({error}); check that --gateway-ca has its certificate, and that"
                " the certificate has the name you gave"
            ) from error
        if "error" in answer:
            connection.close()
            raise wire.error_from_json(answer["error"])
        return tls


def _received(connection: socket.socket) -> dict[str, Any]:
    """A frame's JSON; byte by byte past its lengths nothing is taken of what follows."""
    decoder = wire.Decoder()
    while (frame := decoder.next()) is None:
        data = connection.recv(1)
        if not data:
            raise ConnectionError("it hung up")
        decoder.feed(data)
    return frame.head


class GatewayServer:
    """The gateway itself.

    Args:
        boardd: Where boardd listens.
        keys: Folder of the public keys that open, `NAME.pub`.
        context: With the gateway's certificate and key.
        certificate: The certificate, in DER form.
        say: Told who came and went.

    Raises:
        InvalidRequest: A file of the folder holds no key, or there is none.
    """

    def __init__(
        self, boardd: Path, keys: Path, context: ssl.SSLContext, certificate: bytes, say: Callable[[str], None]
    ) -> None:
        self._boardd, self._keys, self._context, self._certificate = boardd, keys, context, certificate
        self._say, self._callers = say, 0
        self._loop: asyncio.AbstractEventLoop | None = None
        self._end: asyncio.Event | None = None
        self._stopped = False
        if not self._known():
            raise InvalidRequest(
                f"{keys} has no *.pub, so every caller would be refused; make a pair with"
                " `python -m eddy.board.images.signing keygen NAME`, and put NAME.pub there",
                field="keys",
            )

    def run(self, host: str, port: int, ready: Callable[[int], None]) -> None:
        """Serve until `stop`.

        Args:
            host: Address to listen on; "" for every one, of either version of IP ("::" would be one version's alone).
            port: And port; 0 for any.
            ready: Told the port once callers can come.

        Raises:
            InvalidRequest: It cannot listen there.
        """
        asyncio.run(self._run(host, port, ready))

    def stop(self) -> None:
        """End `run`; may be called from a signal handler or another thread."""
        self._stopped = True
        if self._loop is not None and self._end is not None:
            self._loop.call_soon_threadsafe(self._end.set)

    async def _run(self, host: str, port: int, ready: Callable[[int], None]) -> None:
        self._loop, self._end = asyncio.get_running_loop(), asyncio.Event()
        if self._stopped:
            return
        try:
            server = await asyncio.start_server(
                self._called, host or None, port, ssl=self._context, ssl_handshake_timeout=GREETING_S, limit=_PIECE
            )
        except OSError as error:
            where = f"{host or 'any address'}:{port}"
            message = f"cannot listen at {where} ({error.strerror or error}); name another with --listen"
            raise InvalidRequest(message, field="listen") from error
        ready(server.sockets[0].getsockname()[1])
        try:
            await self._end.wait()
        finally:
            server.close()
            callers = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
            for task in callers:
                task.cancel()
            await asyncio.gather(*callers, return_exceptions=True)

    async def _called(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        who = "{}:{}".format(*writer.get_extra_info("peername")[:2])
        self._callers += 1
        try:
            if self._callers > CALLERS:
                self._say(f"{who} is one too many")
                return
            name = await self._admitted(reader, writer, who)
            if name:
                self._say(f"{who} came in as {name}")
                await self._pass_on(reader, writer)
                self._say(f"{who} ({name}) left")
        except (OSError, asyncio.IncompleteReadError):
            self._say(f"{who} was lost")
        except asyncio.CancelledError:
            # The gateway is closed: the end of this task. Streams of asyncio print one that ends as cancelled.
            self._say(f"{who} was hung up on")
        finally:
            self._callers -= 1
            writer.close()

    async def _admitted(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, who: str) -> str:
        """The name of the caller's key; "" where none opens."""
        nonce = secrets.token_hex(32)
        await _send(writer, {"gateway": VERSION, "nonce": nonce})
        try:
            signature = str((await asyncio.wait_for(_greeting(reader), GREETING_S)).get("signature"))
            name = self._name(signature, signed(nonce, self._certificate))
            # Before the caller hears that it is in: a boardd that is not there is told as what it is.
            if not self._boardd.is_socket():
                raise BoardUnreachable(f"the gateway is open, but no boardd listens at {self._boardd}; start it")
        except asyncio.TimeoutError:
            self._say(f"{who} showed no key in {GREETING_S:g} s")
            return ""
        except EddyError as error:
            self._say(f"{who} was not let in: {error.message}")
            await _send(writer, {"error": wire.error_to_json(error)})
            return ""
        await _send(writer, {"gateway": VERSION, "name": name})
        return name

    def _name(self, signature: str, data: bytes) -> str:
        for path in self._known():
            if verify_signature((public_key(path),), signature, data):
                return path.stem
        raise Unauthorized("no key of this gateway signed that; have your public key put into its folder of keys")

    def _known(self) -> list[Path]:
        return sorted(self._keys.glob("*.pub"))

    async def _pass_on(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        board_reader, board_writer = await asyncio.open_unix_connection(str(self._boardd), limit=_PIECE)
        ways = {
            asyncio.ensure_future(_copied(reader, board_writer)),
            asyncio.ensure_future(_copied(board_reader, writer)),
        }
        try:
            # Once one side has hung up, the other is to notice.
            await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for way in ways:
                way.cancel()
            board_writer.close()
            await asyncio.gather(*ways, return_exceptions=True)


async def _copied(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while data := await reader.read(_PIECE):
        writer.write(data)
        await writer.drain()


async def _send(writer: asyncio.StreamWriter, head: dict[str, Any]) -> None:
    writer.write(wire.Frame(head).encode())
    await writer.drain()


async def _greeting(reader: asyncio.StreamReader) -> dict[str, Any]:
    """The first frame of a caller who may be anybody.

    Raises:
        InvalidRequest: It is too long, or none.
    """
    size, payload = wire.LENGTHS.unpack(await reader.readexactly(wire.LENGTHS.size))
    if size > GREETING_BYTES or payload:
        raise InvalidRequest("what arrived is no greeting of a caller; speak the gateway's protocol", field="frame")
    return wire.parse(await reader.readexactly(size))
