# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""`eddy gateway`: let operators elsewhere at the board of a running boardd, with TLS and keys."""

from __future__ import annotations

import ssl
from pathlib import Path
from typing import Annotated

import typer

from eddy.cli.support.options import AsJsonReady, default, option
from eddy.cli.support.output import errors_in_one_line, print_json, print_status
from eddy.core.errors import InvalidRequest
from eddy.host import logs, signals
from eddy.host.notify import READY, STOPPING, Notifier


def gateway(
    keys: Annotated[Path, typer.Option("--keys", help="Folder of public keys that open it, NAME.pub.")],
    tls_cert: Annotated[str, option("tls_cert")] = default("tls_cert"),
    tls_key: Annotated[str, option("tls_key")] = default("tls_key"),
    socket: Annotated[str, option("socket")] = default("socket"),
    listen: Annotated[
        str, typer.Option("--listen", help="Where to listen, HOST:PORT; no host: everywhere, port 0: any.")
    ] = ":7443",
    as_json: AsJsonReady = False,
) -> None:
    """Let operators elsewhere use boardd's board: over TLS, each with a key of their own."""
    logs.guard_stdout()
    with signals.catch_signals(), errors_in_one_line(as_json):
        from eddy.api.service.tls import TlsFiles
        from eddy.board.remote.gateway import GatewayServer

        files = TlsFiles.named(tls_cert, tls_key)
        if files is None:
            raise InvalidRequest("a gateway needs --tls-cert and --tls-key", field="tls_cert")
        host, _, port = listen.rpartition(":")
        if not port.isdecimal():
            raise InvalidRequest(f"{listen!r} is no address to listen on: say HOST:PORT", field="listen")
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_3
        files.load_into(context)
        keeper = GatewayServer(
            Path(socket), keys, context, _own_certificate(files.certificate), lambda text: print_status(f"eddy: {text}")
        )

        manager = Notifier()

        def ready(found: int) -> None:
            manager.tell(READY)
            if as_json:
                print_json({"socket": socket, "port": found})
            else:
                print_status(f"eddy: gateway to {socket} on port {found}")

        with signals.call_on_signal(keeper.stop):
            keeper.run(host.strip("[]"), int(port), ready)
        manager.tell(STOPPING)


def _own_certificate(certificates: Path) -> bytes:
    """The gateway's own certificate, in DER form: a file lists it before those that lead to a known one."""
    text = certificates.read_text(encoding="ascii", errors="replace")
    end = "-----END CERTIFICATE-----"
    begin = text.find("-----BEGIN CERTIFICATE-----")
    return ssl.PEM_cert_to_DER_cert(text[begin : text.find(end, begin) + len(end)] + "\n")
