# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""A key by a log-in in a browser on this machine (RFC 8252): the browser brings a code to a port here, and the code is
worth a key to this process alone, which knows the verifier."""

from __future__ import annotations

import base64
import hashlib
import secrets
import time
import webbrowser
from http.server import BaseHTTPRequestHandler, HTTPServer
from urllib.parse import parse_qs, urlencode, urlsplit

from eddy.cli.support.output import print_status
from eddy.core.errors import InvalidRequest, Unauthorized

PATIENCE_S = 600.0
"""Wall seconds for which a browser is waited for."""
_PAGE = b"<!doctype html><meta charset=utf-8><title>Eddy</title><p>The command line has it now: look there.</p>"


class _CodeServer(HTTPServer):
    """Waits for the browser.

    Attributes:
        code: What it brought; "" for nothing so far.
    """

    code = ""
    timeout = 1.0


class _CodeHandler(BaseHTTPRequestHandler):
    """Takes the code; anything else, a browser's picture of the page say, is not found."""

    server: _CodeServer

    def do_GET(self) -> None:
        """Take a code from the query."""
        found = parse_qs(urlsplit(self.path).query).get("code", [""])[0]
        if urlsplit(self.path).path == "/" and found and not self.server.code:
            self.server.code = found
        self.send_response(200 if found else 404)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Security-Policy", "default-src 'none'")
        self.end_headers()
        self.wfile.write(_PAGE if found else b"")

    def log_message(self, format: str, *args: object) -> None:
        """Print nothing: the line has the code."""


def fetch_key(url: str | None, tenant: str, browser: bool) -> str:
    """Have somebody log in at the server's provider; answers the key.

    Args:
        tenant: For which tenant; "" for the first that fits.
        browser: Whether to open the browser here.

    Raises:
        InvalidRequest: The server has no provider.
        Unauthorized: Nobody logged in in time.
        EddyError: The server lets nobody in with these groups, or why else there is no key.
    """
    from eddy.client import Client

    verifier = secrets.token_urlsafe(48)
    challenge = base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).rstrip(b"=").decode()
    with Client(url, "") as client, _CodeServer(("127.0.0.1", 0), _CodeHandler) as server:
        path = client.sign_on_offer()["path"]
        if not path:
            raise InvalidRequest("The server has no identity provider: `eddy login` takes a key.", field="sso")
        asked = {"port": server.server_address[1], "challenge": challenge, "tenant": tenant}
        address = f"{client.transport.url}{path}?{urlencode(asked)}"
        if not browser or not webbrowser.open(address):
            print_status(f"log in here, in a browser on this machine: {address}")
        end_s = time.monotonic() + PATIENCE_S
        while not server.code:
            if time.monotonic() > end_s:
                raise Unauthorized("Nobody logged in within ten minutes; begin again.", field="sso")
            server.handle_request()
        return client.fetch_sign_on_key(server.code, verifier)["key"]
