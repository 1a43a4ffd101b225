# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""One half of a server, to be killed: `boardd` over a model board that computes, or `serve` behind it.

    python crash_process.py boardd SOCKET
    python crash_process.py serve SOCKET DATA [PORT PRICE]

Everything between the two is what a deployment has: the socket, the journal, the data folder, HTTP.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from eddy.api.service import server as api_server
from eddy.api.service.server import Server, ServerSettings
from eddy.board.port.events import EventLog
from eddy.board.port.port import Cause, EventKind
from eddy.board.remote.boardd_server import Boardd
from eddy.board.remote.journal import Journal
from eddy.hypervisor.intake.kernels import KernelLimits
from eddy.packages.catalogue import Catalogue
from hypervisor_kit import CHAIN
from kernel_kit import ALL_MODULES, ComputingBoard, description
from unit.gpu_kit import CACHE


class OwnedBoard(ComputingBoard):
    """What boardd asks of the board it owns, beside the port."""

    clock = SimpleNamespace(free_running=False)

    def __init__(self, first_seq: int) -> None:
        super().__init__(description(arena=8 << 20))
        self._events.log = EventLog(first_seq)

    @property
    def busy(self) -> bool:
        return any(slot.items or slot.load >= 0 for slot in self._slots)

    def advance(self, until_s: float) -> None:
        self._events.advance(until_s)

    def report_lost(self, slot: int, item: str = "", image: str = "") -> None:
        kind = EventKind.ITEM_FAILED if item else EventKind.CONFIGURATION_FAILED
        at_s, cause = self.now_s(), Cause.BOARD_RESTARTED
        self._events.log.add(kind, slot, at_s=at_s, started_s=at_s, item=item, image=image, cause=cause)


def _boardd(path: Path) -> None:
    path.unlink(missing_ok=True)
    journal = Journal(path.with_name(path.name + ".journal"))
    board: Any = OwnedBoard(journal.first_seq())
    for lost in journal.lost:
        board.report_lost(lost.slot, lost.item, lost.image)
    server = Boardd(board, path, journal)
    print(json.dumps({"socket": str(path)}), flush=True)
    server.run()


def _serve(path: Path, data: Path, port: int = 0, price: str = "whole") -> None:
    catalogue = Catalogue(dict(ALL_MODULES), {CHAIN.name: CHAIN})
    api_server.load_catalogue = lambda *_: catalogue  # type: ignore[attr-defined]
    limits = KernelLimits(4, 5e-2, waves=8)
    settings = ServerSettings(
        "model", "tiny", "eddy", data, data, path, port=port, price=price, kernels=limits, kernel_cache=CACHE
    )
    server = Server(settings)
    server.run(lambda: print(json.dumps({"url": server.url, "key": str(server.key_file)}), flush=True))


def main() -> None:
    """See the module."""
    if sys.argv[1] == "boardd":
        _boardd(Path(sys.argv[2]))
    else:
        port, price = sys.argv[4:] or ("0", "whole")
        _serve(Path(sys.argv[2]), Path(sys.argv[3]), int(port), price)


if __name__ == "__main__":
    main()
