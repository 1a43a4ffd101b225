# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""An OpenID Connect provider: where it is found, where browsers are sent, and whom its tokens speak of.

Authorization Code with PKCE (RFC 7636). What a provider says is believed once its signature, issuer, audience, times
and nonce are right, and by nothing else.
"""

from __future__ import annotations

import base64
import hashlib
import secrets
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode, urlsplit

import httpx

from eddy.api.access.roles import RoleRules
from eddy.core.errors import EddyError, InvalidRequest, Unauthorized

if TYPE_CHECKING:
    from joserfc.jwk import KeySet

CALLBACK = "/v1/session/sign-on/callback"
TIMEOUT_S = 10.0
KEPT_S = 3600.0
"""Wall seconds for which a provider's configuration and keys are used before they are asked for again."""
MIN_AGE_S = 30.0
"""Wall seconds before they are asked for again because a token names a key that is not among them."""
FAILED_S = 5.0
"""Wall seconds before a provider that did not answer is asked again: those who come meanwhile are told so at once."""
LEEWAY_S = 60
"""Wall seconds by which clocks may differ."""
ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA")
"""Signatures with a private key. None with a shared secret, so that a public key is never taken for one."""


class ProviderUnreachable(EddyError):
    """The identity provider does not answer, or answers what it must not."""

    code = "provider-unreachable"


@dataclass(frozen=True, slots=True)
class OidcSettings:
    """Which provider vouches for people, and what they may do.

    Attributes:
        issuer: Its URL; "" for none.
        client_id: What this server is called there.
        secret_file: File with its secret there; "" for a public client.
        public_url: How browsers reach this server.
        rules: What groups may do.
    """

    issuer: str = ""
    client_id: str = ""
    secret_file: str = ""
    scopes: str = "openid profile email groups"
    public_url: str = ""
    rules: RoleRules = field(default_factory=RoleRules)

    @classmethod
    def read(cls, told: Mapping[str, Any]) -> OidcSettings:
        """The settings by their names in `eddy.settings`.

        Raises:
            InvalidRequest: They do not go together, or one cannot be read.
        """
        names = ("oidc_groups_claim", "oidc_operators", "oidc_tenants", "oidc_readers", "oidc_projects")
        found = cls(
            issuer=told["oidc_issuer"].rstrip("/"),
            client_id=told["oidc_client_id"],
            secret_file=told["oidc_secret_file"],
            scopes=told["oidc_scopes"],
            public_url=told["public_url"].rstrip("/"),
            rules=RoleRules.parse(*(told[name] for name in names)),
        )
        found.check()
        return found

    def check(self) -> None:
        """See that the settings go together.

        Raises:
            InvalidRequest: They do not.
        """
        if not self.issuer:
            return
        for name, value in (("oidc_client_id", self.client_id), ("public_url", self.public_url)):
            if not value:
                raise InvalidRequest(f"--oidc-issuer needs --{name.replace('_', '-')}.", field=name)
        for name, value in (("oidc_issuer", self.issuer), ("public_url", self.public_url)):
            parts = urlsplit(value)
            local = parts.hostname in ("localhost", "127.0.0.1", "::1")
            if not parts.hostname or not (parts.scheme == "https" or (parts.scheme == "http" and local)):
                flag = name.replace("_", "-")
                raise InvalidRequest(f"--{flag} is {value!r:.100}; it must be an https URL.", field=name)
        if "openid" not in self.scopes.split():
            raise InvalidRequest("--oidc-scopes must have openid.", field="oidc_scopes")
        self.secret()

    def secret(self) -> str:
        """The client's secret; "" for a public client.

        Raises:
            InvalidRequest: The file cannot be read.
        """
        if not self.secret_file:
            return ""
        path = Path(self.secret_file).expanduser()
        try:
            return path.read_text(encoding="utf-8").strip()
        except (OSError, UnicodeDecodeError) as failure:
            raise InvalidRequest(f"{path} cannot be read: {failure}.", field="oidc_secret_file") from failure

    @property
    def redirect_uri(self) -> str:
        """Where the provider sends browsers back to."""
        return self.public_url + CALLBACK


def challenge_of(verifier: str) -> str:
    """The PKCE challenge (S256) of a verifier."""
    return base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).rstrip(b"=").decode()


def new_verifier() -> str:
    """A PKCE verifier, a state or a nonce: 256 random bits."""
    return secrets.token_urlsafe(32)


class IdentityProvider:
    """One provider, as this server knows it. Its calls block.

    Args:
        clock: Wall seconds.
    """

    def __init__(self, settings: OidcSettings, clock: Callable[[], float] = time.time) -> None:
        self.settings, self._clock = settings, clock
        self._lock = threading.Lock()
        self._known: tuple[float, dict[str, Any], KeySet] | None = None
        self._failed: tuple[float, str] | None = None
        """When it was last asked in vain, and what came of it."""

    def authorization_url(self, state: str, nonce: str, verifier: str, fresh: bool = False) -> str:
        """Where a browser is sent to log in; `fresh` asks who is there again, so that no key is given unseen.

        Raises:
            ProviderUnreachable: The provider cannot be asked where that is.
        """
        asked = {
            "response_type": "code",
            "client_id": self.settings.client_id,
            "redirect_uri": self.settings.redirect_uri,
            "scope": self.settings.scopes,
            "state": state,
            "nonce": nonce,
            "code_challenge": challenge_of(verifier),
            "code_challenge_method": "S256",
            **({"prompt": "login"} if fresh else {}),
        }
        address = str(self._configuration()[0]["authorization_endpoint"])
        return f"{address}{'&' if '?' in address else '?'}{urlencode(asked)}"

    def redeem(self, code: str, verifier: str, nonce: str) -> dict[str, Any]:
        """The claims of the ID token that a code is exchanged for.

        Raises:
            Unauthorized: The code or the token is not good.
            ProviderUnreachable: The provider cannot be asked.
        """
        configuration, _ = self._configuration()
        body = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": self.settings.redirect_uri,
            "code_verifier": verifier,
            "client_id": self.settings.client_id,
        }
        secret = self.settings.secret()
        auth = None
        if secret and "client_secret_basic" in configuration.get(
            "token_endpoint_auth_methods_supported", ["client_secret_basic"]
        ):
            auth = httpx.BasicAuth(self.settings.client_id, secret)
        elif secret:
            body["client_secret"] = secret
        answer = self._ask("POST", str(configuration["token_endpoint"]), data=body, auth=auth)
        if 400 <= answer.status_code < 500:
            raise Unauthorized("The identity provider did not accept this log-in; begin again.", field="code")
        token = _object(answer).get("id_token")
        if not isinstance(token, str):
            raise ProviderUnreachable("The identity provider sent no ID token.")
        return self._claims(token, nonce)

    def _claims(self, token: str, nonce: str) -> dict[str, Any]:
        """The claims of a token, once everything about it is right.

        Raises:
            Unauthorized: Something is not.
        """
        from joserfc import jwt
        from joserfc.errors import JoseError

        settings = self.settings
        rules: dict[str, Any] = {
            "iss": {"essential": True, "value": str(self._configuration()[0]["issuer"])},
            "aud": {"essential": True, "value": settings.client_id},
            "nonce": {"essential": True, "value": nonce},
            "exp": {"essential": True},
            "iat": {"essential": True},
            "sub": {"essential": True},
        }
        try:
            decoded = self._decode(token)
            jwt.JWTClaimsRegistry(now=int(self._clock()), leeway=LEEWAY_S, **rules).validate(decoded.claims)
        except (JoseError, ValueError) as failure:
            message = f"The identity provider's token is not good ({type(failure).__name__}); begin again."
            raise Unauthorized(message, field="id_token") from failure
        claims = dict(decoded.claims)
        party = claims.get("azp", settings.client_id)
        several = isinstance(claims["aud"], list) and len(claims["aud"]) > 1 and "azp" not in claims
        if party != settings.client_id or several:
            raise Unauthorized("The identity provider's token is for somebody else.", field="id_token")
        return claims

    def _decode(self, token: str) -> Any:
        """A token whose signature is right; the keys are asked for again where it names one that is new."""
        from joserfc import jwt
        from joserfc.errors import JoseError

        try:
            return jwt.decode(token, self._configuration()[1], algorithms=list(ALGORITHMS))
        except (JoseError, ValueError):
            if not self._forget():
                raise
            return jwt.decode(token, self._configuration()[1], algorithms=list(ALGORITHMS))

    def _forget(self) -> bool:
        """Have configuration and keys asked for again, where they are not quite new; answers whether."""
        with self._lock:
            if self._known is not None and self._clock() - self._known[0] < MIN_AGE_S:
                return False
            self._known = None
            return True

    def _configuration(self) -> tuple[dict[str, Any], KeySet]:
        """What discovery says, and the keys of the provider.

        Raises:
            ProviderUnreachable: It cannot be asked, or says what it must not.
        """
        with self._lock:
            if self._known is None or not 0 <= self._clock() - self._known[0] < KEPT_S:
                if self._failed is not None and 0 <= self._clock() - self._failed[0] < FAILED_S:
                    raise ProviderUnreachable(self._failed[1])
                try:
                    self._known = self._clock(), *self._discover()
                except ProviderUnreachable as failure:
                    self._failed = self._clock(), failure.message
                    raise
            return self._known[1], self._known[2]

    def _discover(self) -> tuple[dict[str, Any], KeySet]:
        from joserfc.errors import JoseError
        from joserfc.jwk import KeySet

        found = _object(self._ask("GET", f"{self.settings.issuer}/.well-known/openid-configuration"))
        if str(found.get("issuer", "")).rstrip("/") != self.settings.issuer:
            raise ProviderUnreachable(f"{self.settings.issuer} says it is another issuer: see --oidc-issuer.")
        secure = urlsplit(self.settings.issuer).scheme
        for name in ("authorization_endpoint", "token_endpoint", "jwks_uri"):
            if urlsplit(str(found.get(name, ""))).scheme not in ("https", secure):
                raise ProviderUnreachable(f"{self.settings.issuer} names no usable {name}.")
        try:
            return found, KeySet.import_key_set(_object(self._ask("GET", str(found["jwks_uri"]))))  # type: ignore[arg-type]
        except (JoseError, ValueError, KeyError) as failure:
            raise ProviderUnreachable(f"{self.settings.issuer} has no usable keys.") from failure

    def _ask(self, method: str, url: str, **more: Any) -> httpx.Response:
        try:
            with httpx.Client(timeout=TIMEOUT_S, trust_env=False, follow_redirects=False) as client:
                return client.request(method, url, headers={"Accept": "application/json"}, **more)
        except httpx.HTTPError as failure:
            message = f"The identity provider {self.settings.issuer} does not answer; try again soon."
            raise ProviderUnreachable(message) from failure


def _object(answer: httpx.Response) -> dict[str, Any]:
    """The JSON object of an answer.

    Raises:
        ProviderUnreachable: There is none.
    """
    try:
        found = answer.json() if answer.status_code == 200 else None
    except ValueError:
        found = None
    if not isinstance(found, dict):
        raise ProviderUnreachable(f"The identity provider answered {answer.status_code} without JSON.")
    return found
