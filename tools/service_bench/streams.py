# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Large blobs on their way to a server and back, a piece at a time."""

from __future__ import annotations

import hashlib
import http.client
from pathlib import Path

PIECE_BYTES = 1 << 18


def upload(port: int, path: str, key: str, file: Path) -> str:
    """Send a file; answers the hash the server says it has.

    Raises:
        SystemExit: It was not taken.
    """
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=300)
    headers = {"Authorization": f"Bearer {key}", "Content-Length": str(file.stat().st_size)}
    try:
        with file.open("rb") as body:
            connection.request("PUT", path, body, headers)
            answer = connection.getresponse()
            said = answer.read()
    finally:
        connection.close()
    if answer.status not in (200, 201):
        raise SystemExit(f"the blob was not taken: {answer.status} {said[:300]!r}")
    return path.rpartition("/")[2]


def fetch(port: int, path: str, key: str, _: Path) -> str:
    """Fetch what was sent; answers the hash of what came."""
    connection, digest = http.client.HTTPConnection("127.0.0.1", port, timeout=300), hashlib.sha256()
    try:
        connection.request("GET", path, headers={"Authorization": f"Bearer {key}"})
        answer = connection.getresponse()
        while piece := answer.read(PIECE_BYTES):
            digest.update(piece)
    finally:
        connection.close()
    return digest.hexdigest()
