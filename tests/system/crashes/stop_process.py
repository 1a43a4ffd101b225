# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The `eddy` command in a process of its own, whose end is looked at from outside of it.

The command runs as it does from a shell, in the main thread, and ends as it likes. Then, with the command gone and the
simulated board still in memory, this reads every slot's registers over the board's bus, without a driver, and writes
down what it saw: `{"exit", "slots": [{"closed", "in_reset"}], "threads"}`.

    python stop_process.py REPORT serve --board rtl ...
"""

from __future__ import annotations

import json
import signal
import sys
import threading
from pathlib import Path
from typing import Any

from eddy_drivers.regs import window

CONTROL, STATUS = 0x004, 0x008
BANK, STRIDE = window.CONTROL.offset, window.CONTROL.stride
OPEN, CLOSED, IN_RESET = 0b1111, 0b011, 0b100
"""CONTROL: any path coupled or the reset released. STATUS: both paths closed, by the decouplers' own word; in reset."""


def run(arguments: list[str]) -> int:
    """Run the command; answers its exit status."""
    from eddy.cli.main import app

    try:
        app(arguments)
    except SystemExit as end:
        return int(end.code or 0)
    return 0


def slots() -> list[dict[str, bool]]:
    """How every slot of the board in this process stands; [] where there is none."""
    modules = {name: sys.modules.get(name) for name in ("eddy_sim.device", "eddy.board.model.model")}
    found: list[dict[str, bool]] = []
    if modules["eddy_sim.device"] is not None:
        found += _registers()
    if modules["eddy.board.model.model"] is not None:
        found += _modelled(modules["eddy.board.model.model"].ModelBoard)
    return found


def _registers() -> list[dict[str, bool]]:
    import pynq

    device = pynq.Device.active_device
    if device is None or getattr(device, "_board", None) is None:
        return []
    read = device.sim.read32
    banks = [BANK + STRIDE * index for index in range(len(device.profile.slots))]
    return [
        {
            "closed": not read(bank + CONTROL) & OPEN and read(bank + STATUS) & CLOSED == CLOSED,
            "in_reset": bool(read(bank + STATUS) & IN_RESET),
        }
        for bank in banks
    ]


def _modelled(kind: Any) -> list[dict[str, bool]]:
    import gc

    gc.unfreeze()  # a server leaves what was there at its start out of what is looked through
    boards = [each for each in gc.get_objects() if type(each) is kind]
    return [{"closed": slot.phase.value == "empty", "in_reset": True} for each in boards for slot in each.state().slots]


def main() -> None:
    """See the module."""
    report, arguments = Path(sys.argv[1]), sys.argv[2:]
    signal.signal(signal.SIGHUP, signal.SIG_DFL)  # whoever started the tests may have it ignored (`nohup`)
    code = run(arguments)
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)  # the command has ended; what comes now would only hit this report
    threads = [thread.name for thread in threading.enumerate() if not thread.daemon and thread.name != "MainThread"]
    temporary = report.with_suffix(".part")
    temporary.write_text(json.dumps({"exit": code, "slots": slots(), "threads": threads}))
    temporary.replace(report)
    sys.exit(code)


if __name__ == "__main__":
    main()
