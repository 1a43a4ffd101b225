# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""boardd in processes of their own, on the RTL: what tests kill and stop. Run as a script, this is one of them."""

from __future__ import annotations

import contextlib
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from eddy.board.remote import boardd

Start = Callable[[], "subprocess.Popen[str]"]


@contextmanager
def processes(folder: Path) -> Iterator[tuple[Start, Path]]:
    """What starts boardd processes, all on one socket, and that socket; those that still run at the end are killed."""
    from eddy_sim.design import bitstreams

    images, path = folder / "images", folder / "boardd.sock"
    shutil.copytree(bitstreams.list_or_build("tiny").overlay.parent, images)
    started: list[subprocess.Popen[str]] = []

    def start() -> subprocess.Popen[str]:
        command = [sys.executable, __file__, str(path), str(images)]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        started.append(process)
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        return process

    yield start, path
    for process in started:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        process.wait()
        if process.stdout is not None:
            process.stdout.close()


def main() -> None:
    """Serve until killed; say on standard output when clients can connect."""
    socket, images = Path(sys.argv[1]), Path(sys.argv[2])
    boardd.serve("rtl", socket, "tiny", images=images, ready=lambda _: print("ready", flush=True))


if __name__ == "__main__":
    main()
