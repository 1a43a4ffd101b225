"""Large blobs in parts: what has arrived before a connection broke is not sent again."""

from __future__ import annotations

from eddy.client.transport.exchange import Exchange
from eddy.client.transport.operations import Operation, PauseOperation
from eddy.core.errors import Conflict, NotFound

PART_BYTES = 8 << 20
"""What is sent at a time; a smaller blob is sent whole."""
MOST_SURPRISES = 8
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
            if surprises > MOST_SURPRISES:
                raise
            yield PauseOperation(exchange.pause_s(surprises))
            offset = int(conflict.details.get("offset", offset))
            continue
        complete = answer.status_code in (200, 201)
        offset = end if complete else int(answer.headers["Upload-Offset"])
