# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""boardd signs the heads of the server's audit log, and remembers every head it signed.

The server's user owns the audit log and the secret it is chained under, so it could write the log again. It does not
own boardd's key, nor the list of what boardd signed: an entry's number is signed once, numbers only grow, and whoever
verifies the log compares it with the list.

::

    audit.key       private key (Ed25519), only boardd's user can read it
    audit.key.pub   public key
    audit.heads     one line a head: number, chain, wall time in seconds, signature

The socket lies beside boardd's own, `<socket>.audit`. One line of JSON is asked, one answered:
`{"sign": [17, "5f3a..."]}` or `{"heads": 0}` (those after number 0).
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import socketserver
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from eddy.core.errors import Conflict, EddyError, InvalidRequest, StorageDamaged
from eddy.host import trust
from eddy.host.files import PRIVATE_FOLDER, damaged_file_error, translate_os_errors

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

KEY, LIST = "audit.key", "audit.heads"
SUFFIX = ".audit"
"""What the socket's name ends with, behind that of boardd's own."""
PAGE = 10_000
"""Heads in one answer."""
_CHAIN_CHARACTERS, _MAX_LINE = 64, 4096
_SLOW_S = 2.0
"""Wall time a client may take to ask."""
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class SignedHead:
    """A head that was signed.

    Attributes:
        number: Of the entry.
        chain: Its keyed hash.
        at_unix_s: When it was signed.
        signature: In hex.
    """

    number: int
    chain: str
    at_unix_s: float
    signature: str

    def line(self) -> str:
        """As the list has it."""
        return f"{self.number} {self.chain} {self.at_unix_s!r} {self.signature}\n"


def text(number: int, chain: str, at_unix_s: float) -> bytes:
    """What is signed; it begins like nothing else that Eddy signs."""
    return f"eddy audit head\n{number}\n{chain}\n{at_unix_s!r}\n".encode()


class Notary:
    """Signs heads.

    Args:
        folder: Where key and list are; made where missing.

    Raises:
        StorageDamaged: The list is not what was written.
        StorageFailed: The folder cannot be used.
    """

    def __init__(self, folder: Path) -> None:
        with translate_os_errors(folder):
            folder.mkdir(parents=True, exist_ok=True, mode=PRIVATE_FOLDER)
        if not (folder / KEY).exists():
            trust.generate(folder / KEY)
        self._key, self._list = trust.load_key(folder / KEY), folder / LIST
        _drop_half_a_line(self._list)
        heads = read_list(folder)
        self._last = heads[-1] if heads else None
        self._lock = threading.Lock()

    def sign(self, number: int, chain: str) -> SignedHead:
        """Sign a head; it is in the list, on disk, when this returns. Asked again for the last, answers the same.

        Raises:
            Conflict: A head of this number or a later one was signed, and was another one.
            InvalidRequest: That is no head.
            StorageFailed: The list cannot be written.
        """
        fit = number > 0 and len(chain) == _CHAIN_CHARACTERS and set(chain) <= set("0123456789abcdef")
        if not fit:
            raise InvalidRequest("a head is a number from 1 on and 64 hexadecimal digits", field="sign")
        with self._lock:
            last = self._last
            if last is not None and (last.number, last.chain) == (number, chain):
                return last
            if last is not None and number <= last.number:
                raise Conflict(
                    f"entry {last.number} was signed already, so entry {number} is none that comes after it: the audit"
                    " log was put back or written again",
                    field="sign",
                )
            now_s = time.time()
            head = SignedHead(number, chain, now_s, self._key.sign(text(number, chain, now_s)).hex())
            self._append(head)
            self._last = head
            return head

    def _append(self, head: SignedHead) -> None:
        with translate_os_errors(self._list):
            file = os.open(self._list, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
            size = os.fstat(file).st_size
            try:
                write_all(file, head.line().encode())
                os.fsync(file)
            except OSError:
                os.ftruncate(file, size)  # what comes next must not stand behind half a line
                raise
            finally:
                os.close(file)


def read_list(folder: Path) -> tuple[SignedHead, ...]:
    """Every head that was signed, each one's signature checked.

    Raises:
        StorageDamaged: A line is not what was written.
        StorageFailed: It cannot be read.
    """
    path = folder / LIST
    with translate_os_errors(path):
        if not path.exists():
            return ()
        lines = path.read_text(errors="replace").splitlines(keepends=True)
    if lines and not lines[-1].endswith("\n"):  # cut short by a loss of power: nobody was told of it
        lines.pop()
    key = trust.public_key(folder / f"{KEY}.pub")
    found: list[SignedHead] = []
    for count, line in enumerate(lines, start=1):
        head = _parsed(line)
        before = found[-1].number if found else 0
        if head is None or head.number <= before or not verify_head(head, key):
            raise damaged_file_error(
                path, f"is not what was written (line {count})", "keep it as evidence, and move it away"
            )
        found.append(head)
    return tuple(found)


def _drop_half_a_line(path: Path) -> None:
    """Take away what a loss of power left behind the last whole line."""
    with translate_os_errors(path):
        if path.exists():
            data = path.read_bytes()
            os.truncate(path, data.rfind(b"\n") + 1)


def write_all(file: int, data: bytes) -> None:
    """Write bytes at the end of an open file, however many calls that takes."""
    while data:
        data = data[os.write(file, data) :]


def _parsed(line: str) -> SignedHead | None:
    parts = line.split()
    try:
        return SignedHead(int(parts[0]), parts[1], float(parts[2]), parts[3]) if len(parts) == 4 else None
    except ValueError:
        return None


def verify_head(head: SignedHead, key: Ed25519PublicKey) -> bool:
    """Whether a head has the signature of a key."""
    return trust.verify_signature([key], head.signature, text(head.number, head.chain, head.at_unix_s))


@contextlib.contextmanager
def serve_notary(folder: Path, path: Path, mode: int) -> Iterator[None]:
    """Answer on a socket while the block runs.

    Args:
        folder: The notary's.
        path: Of the socket.
        mode: Who may connect.

    Raises:
        StorageFailed: Folder or socket cannot be made.
    """
    notary = Notary(folder)

    class Handler(socketserver.StreamRequestHandler):
        timeout = _SLOW_S

        def handle(self) -> None:
            with contextlib.suppress(OSError):
                line = self.rfile.readline(_MAX_LINE)
                self.wfile.write(json.dumps(_answer(notary, folder, line)).encode() + b"\n")

    with translate_os_errors(path):
        path.unlink(missing_ok=True)
        server = socketserver.ThreadingUnixStreamServer(str(path), Handler)
        server.daemon_threads = True
        path.chmod(mode)
    thread = threading.Thread(target=server.serve_forever, name="notary", daemon=True)
    thread.start()
    try:
        yield
    finally:
        server.shutdown()
        server.server_close()
        path.unlink(missing_ok=True)


def _answer(notary: Notary, folder: Path, line: bytes) -> dict[str, Any]:
    try:
        asked = json.loads(line)
        if "sign" in asked:
            number, chain = asked["sign"]
            head = notary.sign(int(number), str(chain))
            return {"head": [head.number, head.chain, head.at_unix_s, head.signature]}
        after = int(asked["heads"])
        heads = [head for head in read_list(folder) if head.number > after][:PAGE]
        return {"heads": [[head.number, head.chain, head.at_unix_s, head.signature] for head in heads]}
    except EddyError as error:
        if not isinstance(error, InvalidRequest) or isinstance(error, Conflict):
            _log.error("audit: %s", error.message)
        return {"error": error.message, "damaged": isinstance(error, StorageDamaged)}
    except (ValueError, KeyError, TypeError):
        return {"error": 'ask {"sign": [number, chain]} or {"heads": after}', "damaged": False}
