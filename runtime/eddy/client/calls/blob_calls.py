# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Blobs: bytes on the server, named by their hash."""

from __future__ import annotations

from eddy.client import answers
from eddy.client.calls.views import Listing
from eddy.client.transport.call_modes import Caller, call
from eddy.client.transport.exchange import Exchange
from eddy.client.transport.operations import Operation, PauseOperation
from eddy.client.transport.request_values import quote_segment
from eddy.core.errors import Conflict, NotFound

PART_BYTES = 8 << 20
"""What is sent at a time; a smaller blob is sent whole."""
MAX_SURPRISES = 8
"""Times the server may have something else than was thought before the upload is given up."""


def put_in_parts(exchange: Exchange, sha256: str, data: bytes, part_bytes: int = PART_BYTES) -> Operation[None]:
    """Send a blob part by part, from where an earlier upload of it broke off.

    Args:
        exchange: With the server.
        sha256: The blob's name.
        data: Its bytes.
        part_bytes: Bytes of a part.

    Raises:
        EddyError: The server refused it.
        ServerUnreachable: Nothing answers; another attempt goes on from there.
    """
    address = f"/v1/blobs/{sha256}/upload"
    try:
        offset = int((yield from exchange.send_request("HEAD", address)).headers["Upload-Offset"])
    except NotFound:
        offset = 0
    surprises, complete = 0, False
    while not complete:
        end = min(offset + part_bytes, len(data))
        headers = {"Upload-Offset": str(offset), "Upload-Complete": "?1" if end == len(data) else "?0"}
        try:
            answer = yield from exchange.send_request("PATCH", address, content=data[offset:end], headers=headers)
        except Conflict as conflict:
            # It has arrived although its answer was lost, or an earlier request still holds it.
            surprises += 1
            if surprises > MAX_SURPRISES:
                raise
            yield PauseOperation(exchange.pause_s(surprises))
            offset = int(conflict.details.get("offset", offset))
            continue
        complete = answer.status_code in (200, 201)
        offset = end if complete else int(answer.headers["Upload-Offset"])


class BlobCalls(Caller):
    """The part of a client that keeps bytes."""

    @call
    def put_blob(self, data: bytes) -> Operation[str]:
        """Store bytes, unless they are there already; answers their name."""
        return put_bytes(self.transport, data)

    @call
    def blobs(self) -> Operation[Listing[answers.Blob]]:
        """Every blob you keep: `sha256` and `bytes`, in order of the hashes."""
        found = Listing[answers.Blob]()
        cursor: str | None = ""
        while cursor is not None:
            page = yield from self.transport.read_answer(
                answers.BlobPage, "GET", "/v1/blobs", params={"cursor": cursor}
            )
            found += page["blobs"]
            found.damaged += page.get("damaged", [])
            cursor = page["next"]
        return found

    @call
    def blob(self, sha256: str) -> Operation[bytes]:
        """The bytes of a blob.

        Raises:
            NotFound: You keep none of that hash.
        """
        return (yield from self.transport.send_request("GET", f"/v1/blobs/{quote_segment(sha256)}")).content

    @call
    def delete_blob(self, sha256: str) -> Operation[None]:
        """Forget a blob.

        Raises:
            Conflict: A job that has not ended needs it.
        """
        yield from self.transport.send_request("DELETE", f"/v1/blobs/{quote_segment(sha256)}")


def put_bytes(exchange: Exchange, data: bytes) -> Operation[str]:
    """Store bytes, unless they are there already; returns their name."""
    from eddy.client.transport import arrays

    name = arrays.digest(data)
    try:
        yield from exchange.send_request("HEAD", f"/v1/blobs/{name}")
    except NotFound:
        if len(data) > PART_BYTES:
            yield from put_in_parts(exchange, name, data)
        else:
            yield from exchange.send_request("PUT", f"/v1/blobs/{name}", content=data)
    return name
