# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""One handshake with a NATS server: whether it lets a key in, at this moment.

Blocking and without the client, so that a command can ask a server that does not answer, or refuses, and goes on.
"""

from __future__ import annotations

import json
import socket
import time
from typing import Any

from eddy.pool.connection.credentials import SERVER_NAME, PoolAccess, UserKey

ANYWHERE = {"0.0.0.0": "127.0.0.1", "::": "::1", "": "127.0.0.1"}
"""Where a server is reached that listens on all addresses."""
LINE_BYTES = 64 * 1024


def is_admitted(access: PoolAccess, host: str, port: int, timeout_s: float) -> bool:
    """Whether a server lets somebody in.

    Args:
        access: Who, and the server's certificate.
        host: Address that the server listens on.
        port: Its TCP port.
        timeout_s: Wall seconds it may take.

    Raises:
        OSError: It does not answer, or is no such server.
    """
    deadline = time.monotonic() + timeout_s
    with socket.create_connection((ANYWHERE.get(host, host), port), timeout_s) as plain:
        # What is said after the keys are exchanged waits 40 ms for a delayed acknowledgement otherwise.
        plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        info = _server_info(_line(plain, deadline))
        context = access.tls()
        secured = context.wrap_socket(plain, server_hostname=SERVER_NAME) if context else plain
        with secured as connection:
            key = UserKey.from_seed(access.seed)
            options: dict[str, Any] = {"verbose": False, "pedantic": False, "protocol": 1}
            options |= {"nkey": key.public, "sig": key.sign(str(info.get("nonce", ""))).decode()}
            connection.sendall(f"CONNECT {json.dumps(options)}\r\nPING\r\n".encode())
            while (answer := _line(connection, deadline)).startswith(b"INFO "):
                pass
    if answer.startswith(b"-ERR") and b"auth" in answer.lower():
        return False
    if answer == b"PONG":
        return True
    raise ConnectionError(f"the server says {answer[:100]!r}")


def _server_info(line: bytes) -> dict[str, Any]:
    """What a server says of itself."""
    try:
        return dict(json.loads(line.removeprefix(b"INFO ")))
    except (TypeError, ValueError) as failure:
        raise ConnectionError(f"no NATS server answers, but {line[:100]!r}") from failure


def _line(connection: socket.socket, deadline: float) -> bytes:
    """The next line, byte by byte: what follows it may be the beginning of TLS."""
    found = bytearray()
    while not found.endswith(b"\r\n"):
        if (left_s := deadline - time.monotonic()) <= 0:
            raise TimeoutError("the server does not answer")
        connection.settimeout(left_s)
        if not (byte := connection.recv(1)):
            raise ConnectionError("the server ended the connection")
        found += byte
        if len(found) > LINE_BYTES:
            raise ConnectionError("the server sent too much")
    return bytes(found[:-2])
