# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Bytes that never change, whole or in part: conditional requests and ranges as RFC 9110 has them (13 and 14)."""

from __future__ import annotations

import re
from collections.abc import AsyncIterable, Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import Header, Response
from fastapi.responses import StreamingResponse

from eddy.api.http.openapi import Responses, content, refusals
from eddy.api.http.problems import PreconditionFailed, RangeNotSatisfiable

_RANGE = re.compile(r"bytes=(?:([0-9]+)-([0-9]+)?|-([0-9]+))", re.IGNORECASE)
_FAR = 10**18
"""Beyond the end of whatever there is; where a number in a range has more digits, it is as good as any."""
_TAG = re.compile(r'(?:W/)?"[^"]*"')

IfMatch = Annotated[str | None, Header(include_in_schema=False)]
"""`ETag`s one of which it must be. Not on the page: of the texts its schema could allow, nearly all would get 412."""
IfNoneMatch = Annotated[str | None, Header(description="`ETag`s that are known: 304 where one of them is it.")]
Range = Annotated[str | None, Header(description="One range, as `bytes=0-99`, `bytes=100-` or `bytes=-100`.")]
IfRange = Annotated[str | None, Header(description="The `ETag` the range is of; with another, all is answered.")]
_TEXT = {"schema": {"type": "string"}}
_HEADERS: Mapping[str, Any] = {"ETag": {"description": "Names these very bytes.", **_TEXT}}


@dataclass(frozen=True, slots=True)
class RangeRequest:
    """What a request says of the bytes it wants.

    Attributes:
        if_match: `ETag`s it would have.
        if_none_match: `ETag`s it knows.
        range: Which part it wants.
        if_range: Of which `ETag` that is a part.
    """

    if_match: str | None = None
    if_none_match: str | None = None
    range: str | None = None
    if_range: str | None = None

    def check(self, etag: str) -> None:
        """See that these are the bytes it would have.

        Raises:
            PreconditionFailed: They are others; a weak tag names none.
        """
        given = self.if_match
        if given is not None and given.strip() != "*" and etag not in _TAG.findall(given):
            raise PreconditionFailed(etag)

    def has_bytes_already(self, etag: str) -> bool:
        """Whether it has the bytes already; weak tags count as strong ones here."""
        given = self.if_none_match
        if given is None:
            return False
        return given.strip() == "*" or etag in (tag.removeprefix("W/") for tag in _TAG.findall(given))

    def part(self, etag: str, size_bytes: int) -> tuple[int, int] | None:
        """The first byte and the one behind the last; None for all. Several ranges, and what is none, are passed over.

        Raises:
            RangeNotSatisfiable: There are no such bytes.
        """
        found = _RANGE.fullmatch(self.range.strip()) if self.range is not None else None
        if found is None or (self.if_range is not None and self.if_range.strip() != etag):
            return None
        first, last, end = found[1], found[2], found[3]
        if end is not None:
            begin, stop = max(size_bytes - _place(end), 0), size_bytes
        else:
            begin, stop = _place(first), size_bytes if last is None else min(_place(last) + 1, size_bytes)
            if last is not None and _place(last) < begin:
                return None
        if begin >= stop:
            raise RangeNotSatisfiable(size_bytes)
        return begin, stop


def _place(digits: str) -> int:
    digits = digits.lstrip("0") or "0"
    return int(digits) if len(digits) <= 18 else _FAR


def answers(description: str, *others: int) -> Responses:
    """The `responses` of a route that answers bytes."""
    whole = {**content("application/octet-stream", description), "headers": dict(_HEADERS)}
    part = content("application/octet-stream", "The part that was asked for.")
    place = {"Content-Range": {"description": "Which bytes, of how many.", "required": True, **_TEXT}}
    return {
        200: whole,
        206: {**part, "headers": {**_HEADERS, **place}},
        304: {"description": "You have it already.", "headers": dict(_HEADERS)},
        **refusals(*others, 412, 416),
    }


async def respond_bytes(
    read: Callable[[int, int], Awaitable[Iterable[bytes] | AsyncIterable[bytes]]],
    asked: RangeRequest,
    etag: str,
    size_bytes: int,
    headers: Mapping[str, str],
) -> Response:
    """Answer bytes, or part of them, or that they are known.

    Args:
        read: Given the first byte and the one behind the last, gives what is between them piece by piece. What is found
            wrong before the first piece is told; what is found later breaks the answer off.
        etag: Names the bytes, in quotes.
        headers: Further ones.

    Raises:
        PreconditionFailed: They are others than it asked for.
        RangeNotSatisfiable: There are no such bytes.
        DamagedFile: They are not what was stored.
    """
    shared = {
        "ETag": etag,
        "Accept-Ranges": "bytes",
        "X-Content-Type-Options": "nosniff",
        "Cache-Control": "private, no-cache",
    }
    asked.check(etag)
    if asked.has_bytes_already(etag):
        return Response(status_code=304, headers=shared)
    part = asked.part(etag, size_bytes)
    begin, stop = part or (0, size_bytes)
    pieces = await read(begin, stop)
    sized = {**shared, **headers, "Content-Length": str(stop - begin)}
    if part is not None:
        sized["Content-Range"] = f"bytes {begin}-{stop - 1}/{size_bytes}"
    status = 200 if part is None else 206
    return StreamingResponse(pieces, status, headers=sized, media_type="application/octet-stream")
