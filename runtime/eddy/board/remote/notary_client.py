# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""boardd's signatures over the audit log, asked for from the server's side."""

from __future__ import annotations

import json
import logging
import socket
from pathlib import Path
from typing import Any

from eddy.board.remote.notary import SUFFIX, SignedHead
from eddy.core.errors import BoardUnreachable, Conflict, StorageDamaged

PATIENCE_S = 2.0
_log = logging.getLogger(__name__)


class NotaryClient:
    """The notary of a boardd.

    Args:
        boardd: boardd's own socket.
    """

    def __init__(self, boardd: Path) -> None:
        self._path = boardd.with_name(boardd.name + SUFFIX)
        self._failing = False

    def announce(self, number: int, chain: str) -> None:
        """Have a head signed; where that fails it is logged, once, and the next head covers this one too."""
        try:
            self._ask({"sign": [number, chain]})
        except (BoardUnreachable, Conflict, StorageDamaged) as error:
            if not self._failing:
                _log.error("audit: boardd did not sign entry %d: %s", number, error.message)
            self._failing = True
            return
        if self._failing:
            _log.warning("audit: boardd signs again, from entry %d on", number)
        self._failing = False

    def heads(self) -> tuple[SignedHead, ...]:
        """Every head that was signed.

        Raises:
            BoardUnreachable: Nobody answers.
            StorageDamaged: boardd's list is not what was written.
        """
        found: list[SignedHead] = []
        while page := self._ask({"heads": found[-1].number if found else 0})["heads"]:
            found += [SignedHead(*each) for each in page]
        return tuple(found)

    def _ask(self, question: dict[str, Any]) -> dict[str, Any]:
        try:
            with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
                connection.settimeout(PATIENCE_S)
                connection.connect(str(self._path))
                connection.sendall(json.dumps(question).encode() + b"\n")
                text = b""
                while not text.endswith(b"\n"):
                    piece = connection.recv(1 << 16)
                    if not piece:
                        raise ConnectionError("it hung up")
                    text += piece
            answer: dict[str, Any] = json.loads(text)
        except (OSError, ValueError) as error:
            message = f"nobody signs the audit log at {self._path} ({error}); start `eddy boardd`"
            raise BoardUnreachable(message) from error
        if "error" in answer:
            raise (StorageDamaged if answer.get("damaged") else Conflict)(str(answer["error"]))
        return answer
