"""The head of a submission that comes as nearly all do, read at one glance.

h11 takes a head apart line by line, and the framework behind it builds an object for everything a request may have:
that takes several times as long as all that is then done with a submission. What is read here is a part of what h11
takes (RFC 9112), and every head with anything uncommon about it is left to it: whatever decides where a body ends, who
asks or how the body is to be read stands there once at most, in visible ASCII.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from eddy.api.bodies_base import IDEMPOTENCY_KEY
from eddy.logs import REQUEST_ID_HEADER

MOST_HEAD = 8192
"""Bytes of a head that is read here, at most."""
_HEAD = re.compile(rb"POST /v1/jobs HTTP/1\.1\r\n((?:[-!#$%&'*+.^_`|~0-9A-Za-z]+:[\t -~]*\r\n)+)\r\n")
_FIRST = b"POST /v1/jobs HTTP/1.1\r\n"
_NAMED = re.compile(rb"[A-Za-z0-9._:/+=~-]{1,64}")
_LENGTH = re.compile(rb"[1-9][0-9]{0,8}")
_KEY = re.compile(IDEMPOTENCY_KEY.encode())
_JSON = frozenset({b"application/json", b"application/json; charset=utf-8", b"application/json;charset=utf-8"})
_READ = frozenset(
    {b"host", b"authorization", b"content-length", b"content-type", b"idempotency-key", b"connection"}
    | {REQUEST_ID_HEADER.encode()}
)
"""Headers that say something here."""
_UNCOMMON = frozenset(
    {b"transfer-encoding", b"content-encoding", b"expect", b"upgrade", b"trailer", b"te", b"http2-settings"}
)
"""Headers that change how a request is read."""


class SubmissionHead(NamedTuple):
    """What a head says.

    Attributes:
        credential: The API key.
        idempotency_key: The submission's name, or "".
        name: The client's name for the request, or b"".
        begin: Where the body begins.
        end: Where the request ends.
    """

    credential: str
    idempotency_key: str
    name: bytes
    begin: int
    end: int


def read_head(data: bytes) -> SubmissionHead | None:
    """The head at the beginning of what came on a connection; None where it is not all there, or uncommon."""
    if not data.startswith(_FIRST):
        return None
    match = _HEAD.match(data, 0, MOST_HEAD)
    if match is None:
        return None
    found: dict[bytes, bytes] = {}
    for line in match[1].splitlines():
        name, _, value = line.partition(b":")
        name = name.lower()
        if name in _READ:
            if name in found:
                return None
            found[name] = value.strip(b" \t")
        elif name in _UNCOMMON:
            return None
    return _meant(found, match.end())


def _meant(found: dict[bytes, bytes], begin: int) -> SubmissionHead | None:
    scheme, _, credential = found.get(b"authorization", b"").partition(b" ")
    length, key = found.get(b"content-length", b""), found.get(b"idempotency-key")
    name = found.get(REQUEST_ID_HEADER.encode(), b"")
    usual = (
        b"host" in found
        and scheme.lower() == b"bearer"
        and credential
        and b" " not in credential
        and _LENGTH.fullmatch(length)
        and found.get(b"content-type", b"").lower() in _JSON
        and found.get(b"connection", b"keep-alive").lower() == b"keep-alive"
        and (key is None or _KEY.fullmatch(key))
    )
    if not usual:
        return None
    taken = name if _NAMED.fullmatch(name) else b""
    return SubmissionHead(credential.decode(), "" if key is None else key.decode(), taken, begin, begin + int(length))
