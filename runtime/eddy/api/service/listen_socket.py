# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The address a server listens on."""

from __future__ import annotations

import errno
import socket

from eddy.core.errors import Conflict, InvalidRequest

QUEUE = 1024
"""Connections that the system keeps until they are accepted."""


def listen(host: str, port: int) -> socket.socket:
    """A socket that listens already.

    Raises:
        InvalidRequest: The host is no address of this machine.
        Conflict: The port is taken.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # The protocol is named because asyncio sets TCP_NODELAY only on connections whose socket says it is TCP; without it
    # every answer on a kept connection waits 40 ms for the client's delayed acknowledgement.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
        listener.listen(QUEUE)  # now, not when the board is built: a second server must fail before it builds one
    except (OSError, OverflowError) as failure:
        listener.close()
        reason = (failure.strerror if isinstance(failure, OSError) else None) or failure
        foreign = isinstance(failure, OSError) and failure.errno == errno.EADDRNOTAVAIL
        if foreign or isinstance(failure, socket.gaierror):
            message = f"Cannot listen on {host} ({reason}); choose an address of this machine with --host."
            raise InvalidRequest(message, field="host", asked=host) from failure
        message = f"Cannot listen on {host}:{port} ({reason}); choose another --port."
        raise Conflict(message, field="port", asked=port) from failure
    return listener
