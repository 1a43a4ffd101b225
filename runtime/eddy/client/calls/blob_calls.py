"""Blobs: bytes on the server, named by their hash."""

from __future__ import annotations

from eddy.client import answers
from eddy.client.calls.views import Listing
from eddy.client.transport.call_modes import Caller, call
from eddy.client.transport.exchange import Exchange
from eddy.client.transport.operations import Operation
from eddy.client.transport.part_upload import PART_BYTES, put_in_parts
from eddy.client.transport.request_values import quote_segment
from eddy.core.errors import NotFound


class BlobCalls(Caller):
    """The part of a client that keeps bytes."""

    @call
    def put_blob(self, data: bytes) -> Operation[str]:
        """Store bytes, unless they are there already; answers their name."""
        return putting(self.transport, data)

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


def putting(exchange: Exchange, data: bytes) -> Operation[str]:
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
