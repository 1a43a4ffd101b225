# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What is given to a client, in a form that can be sent; what cannot be is said before anything is."""

from __future__ import annotations

import json
import re
import uuid
from typing import Any
from urllib.parse import quote

import httpx

from eddy.core.errors import InvalidRequest
from eddy.settings import SETTINGS, Value

_SUBMISSION_KEY = re.compile(r"[!-~]{1,128}")


LAST_PORT = 65_535


def address(url: str) -> str:
    """A URL to put paths behind.

    Raises:
        InvalidRequest: It is none that HTTP goes to.
    """
    whole = (url if "://" in url else f"http://{url}").rstrip("/")
    try:
        parsed = httpx.URL(whole)
        plain = not (parsed.query or parsed.fragment or any(letter.isspace() for letter in whole))
        good = parsed.scheme in ("http", "https") and parsed.host != "" and plain
    except (httpx.InvalidURL, ValueError, UnicodeError):
        good = False
    if not good:
        message = f"{url!r:.100} is no address of a server; give one such as http://127.0.0.1:8000."
        raise InvalidRequest(message, field="url", allowed="http://HOST:PORT")
    if parsed.port is not None and not 0 < parsed.port <= LAST_PORT:
        message = f"{url!r:.100} is no address of a server: there is no port {parsed.port}."
        raise InvalidRequest(message, field="url", allowed=f"ports 1 to {LAST_PORT}")
    if parsed.path.endswith("/v1"):
        message = f"{url!r:.100} ends in /v1, which requests have behind it: give {whole.removesuffix('/v1')}."
        raise InvalidRequest(message, field="url")
    return whole


def bearer_key(key: str) -> str:
    """A key a header can carry.

    Raises:
        InvalidRequest: It has other than printable ASCII characters.
    """
    if not all("!" <= letter <= "~" for letter in key):
        message = "The key has characters no key has; give it as `eddy tenant add` has printed it, without spaces."
        raise InvalidRequest(message, field="key")
    return key


def json_body(body: Any) -> bytes:
    """A body as it travels.

    Raises:
        InvalidRequest: JSON has no words for it.
    """
    try:
        return json.dumps(body, allow_nan=False).encode()
    except (TypeError, ValueError) as failure:
        message = f"JSON cannot carry this request ({failure}): numbers must be finite; send others in an array."
        raise InvalidRequest(message, field="body") from None


def submission_key(given: str | None) -> str:
    """The `Idempotency-Key` of a submission: the given one, or a new one.

    Raises:
        InvalidRequest: The given one cannot be sent.
    """
    if given is None:
        return str(uuid.uuid4())
    if not _SUBMISSION_KEY.fullmatch(given):
        message = f"The idempotency key {given!r:.40} must be 1 to 128 printable ASCII characters without spaces."
        raise InvalidRequest(message, field="idempotency_key", allowed="1 to 128 characters from ! to ~")
    return given


def quote_segment(name: str) -> str:
    """A name as one part of a path."""
    return quote(name, safe="", errors="replace")


def read_setting(name: str) -> Value:
    """A setting as the environment has it, or its default.

    Raises:
        InvalidRequest: The environment's is not of its type.
    """
    try:
        return SETTINGS[name].value()
    except ValueError as failure:
        raise InvalidRequest(f"{failure}.", field=SETTINGS[name].environment) from None
