# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Bytes of a blob on their way between a board and a head, by addresses that heads give to one board for one time."""

from __future__ import annotations

import hashlib
import io
import secrets
import time
from dataclasses import dataclass, field

import httpx

from eddy.core.errors import EddyError

PIECE_BYTES = 256 << 10
SILENT_S = 30.0
"""Wall seconds that a head may take for the next bytes of a transfer, or for its answer."""


class DamagedBlob(EddyError):
    """What came is not what its name says."""

    code = "file-damaged"


@dataclass(frozen=True, slots=True)
class FetchedBlob:
    """Bytes, and how long their transfer took in wall seconds."""

    data: bytes
    took_s: float


@dataclass(frozen=True, slots=True)
class Address:
    """Where bytes can be fetched, or sent to, once."""

    url: str
    size_bytes: int


@dataclass(frozen=True, slots=True)
class TransferSecret:
    """What makes an address good for whoever asked for it, and for nobody who learns of it: the head is told its
    digest with the question, and the secret itself with the transfer."""

    secret: str = field(default_factory=lambda: secrets.token_hex(32), repr=False)

    @property
    def digest(self) -> str:
        """What the head is told first."""
        return digest_of(self.secret)

    @property
    def headers(self) -> dict[str, str]:
        """What a transfer carries."""
        return {"Authorization": f"Bearer {self.secret}"}


def digest_of(secret: str) -> str:
    """Of a secret."""
    return hashlib.sha256(secret.encode()).hexdigest()


def damaged(sha256: str) -> DamagedBlob:
    """Say that a blob is."""
    return DamagedBlob(f"The pool's copy of blob {sha256} is damaged; upload it again.", asked=sha256)


async def received(http: httpx.AsyncClient, address: Address, proof: TransferSecret, sha256: str) -> FetchedBlob:
    """Fetch a blob.

    Raises:
        DamagedBlob: What came is not what its name says.
        OSError: The head does not answer, or no more.
        EddyError: It refuses.
    """
    began_s = time.monotonic()
    data, digest = io.BytesIO(), hashlib.sha256()
    try:
        async with http.stream("GET", address.url, headers=proof.headers) as answer:
            if answer.status_code != httpx.codes.OK:
                raise refusal(answer, await answer.aread())
            async for piece in answer.aiter_raw(PIECE_BYTES):
                data.write(piece)
                digest.update(piece)
                if data.tell() > address.size_bytes:
                    raise damaged(sha256)
    except httpx.HTTPError as failure:
        raise ConnectionError(f"a head sends no more: {failure!r}") from failure
    if digest.hexdigest() != sha256:
        raise damaged(sha256)
    return FetchedBlob(data.getvalue(), time.monotonic() - began_s)


async def sent(http: httpx.AsyncClient, address: Address, proof: TransferSecret, data: bytes) -> None:
    """Send a blob.

    Raises:
        OSError: The head does not answer.
        EddyError: It refuses.
    """
    try:
        answer = await http.put(address.url, content=data, headers=proof.headers)
    except httpx.HTTPError as failure:
        raise ConnectionError(f"a head takes no more: {failure!r}") from failure
    if answer.status_code != httpx.codes.NO_CONTENT:
        raise refusal(answer, answer.content)


def refusal(answer: httpx.Response, body: bytes) -> Exception:
    """What a head's refusal of a transfer is for a board."""
    try:
        said = httpx.Response(200, content=body).json()
        code, message = str(said["code"]), str(said["detail"])
    except (KeyError, TypeError, ValueError):
        return ConnectionError(f"a head answers {answer.status_code}")
    if code == DamagedBlob.code:
        return DamagedBlob(message)
    return EddyError(message, cause=code)
