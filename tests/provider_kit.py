# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""An OpenID Connect provider on this machine that insists on PKCE, and that a test may have lie.

Everybody who comes is logged in as the test says; tokens are signed for real.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import secrets
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

from joserfc import jwt
from joserfc.jwk import KeySet, RSAKey

CLIENT, SECRET = "eddy", "the client's secret"


class Provider:
    """The provider.

    Attributes:
        claims: Of the person who logs in.
        lies: Claims of the ID token that are others than they should be; None takes one out.
        key: Signs tokens.
        algorithm: With which; `HS256` takes the public key for a shared secret, and `none` signs nothing.
        asked: Queries of the authorization endpoint.
    """

    def __init__(self) -> None:
        self.claims: dict[str, Any] = {"sub": "42", "preferred_username": "ada", "groups": ["lab"]}
        self.lies: dict[str, Any] = {}
        self.algorithm = "RS256"
        self.rotate()
        self.asked: list[dict[str, str]] = []
        self.issuer_lie = ""
        self._codes: dict[str, dict[str, str]] = {}
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._server.daemon_threads = True

    def rotate(self) -> None:
        """Sign with another key from now on."""
        self.key: Any = RSAKey.generate_key(2048, {"kid": secrets.token_hex(4), "use": "sig"})
        self.published = [self.key]

    @property
    def issuer(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> Provider:
        threading.Thread(target=self._server.serve_forever, args=[0.02], daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    def configuration(self) -> dict[str, Any]:
        here = self.issuer
        return {
            "issuer": self.issuer_lie or here,
            "authorization_endpoint": f"{here}/authorize",
            "token_endpoint": f"{here}/token",
            "jwks_uri": f"{here}/keys",
            "token_endpoint_auth_methods_supported": ["client_secret_basic", "client_secret_post"],
        }

    def keys(self) -> dict[str, Any]:
        return dict(KeySet(self.published).as_dict(private=False))

    def authorize(self, asked: dict[str, str]) -> str:
        """Where the browser goes next."""
        self.asked.append(asked)
        assert (asked["client_id"], asked["response_type"], asked["code_challenge_method"]) == (CLIENT, "code", "S256")
        code = secrets.token_urlsafe(16)
        self._codes[code] = asked
        back = {"code": code, "state": asked["state"], "session_state": "whatever a provider adds"}
        return f"{asked['redirect_uri']}?{urlencode(back)}"

    def token(self, body: dict[str, str], basic: str) -> tuple[int, dict[str, Any]]:
        """What a code is exchanged for: once, with the secret, the same address and the verifier."""
        asked = self._codes.pop(body.get("code", ""), None)
        wanted = base64.b64encode(f"{CLIENT}:{SECRET}".replace(" ", "%20").encode()).decode()
        plain = base64.b64encode(f"{CLIENT}:{SECRET}".encode()).decode()
        if asked is None or basic not in (f"Basic {wanted}", f"Basic {plain}"):
            return 400, {"error": "invalid_client" if asked else "invalid_grant"}
        challenge = _base64(hashlib.sha256(body["code_verifier"].encode()).digest()).decode()
        if challenge != asked["code_challenge"] or body["redirect_uri"] != asked["redirect_uri"]:
            return 400, {"error": "invalid_grant"}
        return 200, {"access_token": "unused", "token_type": "Bearer", "id_token": self.id_token(asked["nonce"])}

    def id_token(self, nonce: str) -> str:
        now = int(time.time())
        claims = {"iss": self.issuer, "aud": CLIENT, "iat": now, "exp": now + 300, "nonce": nonce, **self.claims}
        told = {name: value for name, value in {**claims, **self.lies}.items() if value is not None}
        header = {"alg": self.algorithm, "kid": self.key.kid} if self.algorithm != "none" else {"alg": "none"}
        if self.algorithm in ("none", "HS256"):
            signed = b".".join(_base64(json.dumps(each).encode()) for each in (header, told))
            pem = self.key.as_pem(private=False)
            mac = b"" if self.algorithm == "none" else hmac.new(pem, signed, hashlib.sha256).digest()
            return (signed + b"." + _base64(mac)).decode()
        return jwt.encode(header, told, self.key, algorithms=[self.algorithm])


def _base64(data: bytes) -> bytes:
    return base64.urlsafe_b64encode(data).rstrip(b"=")


def _handler(provider: Provider) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            parts = urlsplit(self.path)
            if parts.path == "/authorize":
                asked = {name: values[0] for name, values in parse_qs(parts.query).items()}
                self.send_response(302)
                self.send_header("Location", provider.authorize(asked))
                self.end_headers()
                return
            shown = {"/.well-known/openid-configuration": provider.configuration, "/keys": provider.keys}
            self._answer(200, shown[parts.path]())

        def do_POST(self) -> None:
            text = self.rfile.read(int(self.headers["content-length"])).decode()
            body = {name: values[0] for name, values in parse_qs(text).items()}
            self._answer(*provider.token(body, self.headers.get("authorization", "")))

        def _answer(self, status: int, document: dict[str, Any]) -> None:
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.end_headers()
            self.wfile.write(json.dumps(document).encode())

        def log_message(self, *_: object) -> None:
            pass

    return Handler
