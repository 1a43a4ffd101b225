# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""`make board-chroot`: what can be told of an installation on a board without one, in an emulated arm64 system.

tools/board_chroot.py             all of it: needs root, some 20 minutes the first time
tools/board_chroot.py --wheels    only which wheels a board takes, and their sizes; needs neither root nor emulation

No part of `make test`. Each line says PASS or FAIL and what was measured; the exit status is 1 after a FAIL.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from arm64 import wheels
from arm64.system import System, missing
from eddy.host.distribution import NAME

HOME = wheels.ROOT / "build" / "board-chroot"
BOARD_PYTHON, CHROOT_PYTHON = "3.10", "3.11"
PYNQ = "4.0.0"
MB = 1_000_000
SERVE_CEILING_BYTES, BOARD_CEILING_BYTES = 130 * MB, 280 * MB
"""What Eddy with the extra `serve`, and with `board` too, may take on disk, with pip's own files: an upgrade keeps two
environments."""
VENV = "/opt/eddy/1"
_JOB = """\
cd /tmp
python3 -c 'import sys; print(sys.version.split()[0])'
{venv}/bin/python -c 'import numpy; numpy.save("/tmp/image.npy", numpy.full((1, 128, 128), 100, "u1"))'
{venv}/bin/eddy serve --board model --profile kv260 --port 8000 --data /tmp/data >/tmp/serve.log 2>&1 &
server=$!
for _ in $(seq 600); do grep -q 'serving on' /tmp/serve.log && break; kill -0 $server; sleep 1; done
export EDDY_DATA=/tmp/data
key=$({venv}/bin/eddy tenant add alice | tail -n 1)
EDDY_KEY=$key {venv}/bin/eddy submit image_compression -i image=/tmp/image.npy --out /tmp/result --json
kill $server; wait $server
"""


class Failed(Exception):
    """What was measured is not what it should be."""


class Report:
    """Lines of PASS and FAIL."""

    def __init__(self) -> None:
        self.failed = False

    def say(self, passed: bool, what: str) -> None:
        """One line, at once."""
        self.failed |= not passed
        print(f"{'PASS' if passed else 'FAIL'}  {what}", flush=True)

    def attempt(self, what: str, step: Callable[[], str]) -> bool:
        """A step, and what it measured; whether it came to its end."""
        try:
            said = step()
        except Failed as failed:
            self.say(False, f"{what}: {failed}")
            return False
        except subprocess.CalledProcessError as error:
            self.say(False, f"{what}: exit status {error.returncode}, its output is above")
            return False
        self.say(True, f"{what}: {said}")
        return True


def resolve(report: Report, folder: Path) -> None:
    """Which wheels a board takes."""
    for extras, ceiling in ((("serve",), SERVE_CEILING_BYTES), (("serve", "board"), BOARD_CEILING_BYTES)):
        name = f"{NAME}[{','.join(extras)}] for Python {BOARD_PYTHON}, aarch64"

        def step(extras: tuple[str, ...] = extras, ceiling: int = ceiling) -> str:
            found = wheels.download(extras, BOARD_PYTHON, folder / "-".join(extras))
            if found.bytes > ceiling:
                raise Failed(f"{found.bytes / MB:.0f} MB unpacked, the ceiling is {ceiling / MB:.0f}")
            built = f"; {' '.join(wheels.PURE)} built from source, and pynq to be" if "board" in extras else ""
            sizes = f"{found.packed_bytes / MB:.0f} MB, unpacked {found.bytes / MB:.0f} MB of {ceiling / MB:.0f}"
            return f"{found.count} wheels{built}; {sizes}"

        report.attempt(name, step)


def put_wheels(system: System, folder: Path) -> None:
    """Everything that is installed goes into the system, which has no network."""
    target = system.root / "wheels"
    wheels.download(("serve", "board"), CHROOT_PYTHON, target)
    shutil.copy(wheels.own_wheel(folder / "own"), target)
    # PYNQ is built in the system, which takes these two.
    pip = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "-d", str(target)]
    subprocess.run([*pip, "--only-binary=:all:", "setuptools", "wheel"], check=True)
    environment = {**os.environ, "PYNQ_BUILD_ARCH": "x86_64"}
    subprocess.run([*pip, "--no-binary=pynq", f"pynq=={PYNQ}"], check=True, env=environment)


def installed(system: System, extras: str, ceiling: int) -> str:
    """Install Eddy with some extras from wheels alone; how much the environment takes then."""
    pip = f"{VENV}/bin/pip install -q --no-index --find-links /wheels --no-compile"
    system.run(f"test -d {VENV} || python3 -m venv {VENV}")
    if "board" in extras:
        system.run(f"PYNQ_BUILD_ARCH=x86_64 {pip} --no-deps pynq=={PYNQ}")
    system.run(f"{pip} --only-binary=:all: '{NAME}[{extras}]'")
    taken = system.bytes_below(VENV)
    if taken > ceiling:
        raise Failed(f"{taken / MB:.0f} MB on disk, the ceiling is {ceiling / MB:.0f}")
    return f"{taken / MB:.0f} MB on disk of {ceiling / MB:.0f}"


def job(system: System) -> str:
    """A tenant's job on the model board, over HTTP."""
    done = system.run(_JOB.format(venv=VENV))
    said = json.loads(done.stdout[done.stdout.index("{") :])
    if said["state"] != "succeeded" or said["tenant"] != "alice":
        raise Failed(f"it ended as {said['state']}")
    return f"{said['application']} of {said['tenant']} {said['state']}"


def boardd(system: System) -> str:
    """The privileged half imports all it needs, and names what an emulated machine lacks of a board."""
    system.run(
        f"{VENV}/bin/python -c 'import eddy.board.remote.boardd, eddy.board.overlay, eddy.board.pynq.real_board, pynq'"
    )
    folder = system.root / "lib/firmware/eddy/kv260"
    folder.mkdir(parents=True)
    (folder / "eddy.bit").write_bytes(b"")
    command = f"{VENV}/bin/eddy boardd --board pynq --profile kv260 --socket /tmp/boardd.sock --json"
    causes = []
    for environment in ("", "XILINX_XRT=/usr "):
        done = system.run(environment + command, check=False)
        said = json.loads(done.stderr.strip().splitlines()[-1])
        causes.append(f"{said['code']} ({said['cause']})")
    shutil.rmtree(folder.parent)
    if causes != ["board-not-ready (xrt)", "board-not-ready (device-tree)"]:
        raise Failed(", ".join(causes))
    return f"imports; ends with {', then '.join(causes)}"


def untouched(system: System) -> str:
    """`eddy install` for the system itself, then removal: every file is as it was."""
    before = system.snapshot()
    system.run(f"XILINX_XRT=/usr {VENV}/bin/eddy install --profile kv260")
    with_eddy = system.snapshot()
    new = sorted(set(with_eddy) - set(before))
    wanted = ("eddy-boardd.service", "eddy-serve.service", "eddy.conf", "70-eddy.rules", "current")
    if not all(any(path.endswith(name) for path in new) for name in wanted):
        raise Failed(f"it wrote only {', '.join(new)}")
    if "multi-user.target.wants/eddy-serve.service" not in " ".join(new):
        raise Failed("the services are not enabled")
    system.run(f"{VENV}/bin/eddy install --remove --purge")
    after = system.snapshot()
    changed = sorted(path for path in {*before, *after} if before.get(path) != after.get(path))
    if changed:
        raise Failed(f"not as before: {', '.join(changed[:10])}")
    return f"{len(new)} entries written and enabled, user and groups made; then {len(after)} entries just as before"


def main() -> int:
    """Run; the exit status is 1 where something failed, 2 where it cannot run here."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--wheels", action="store_true")
    arguments = parser.parse_args()
    if not arguments.wheels and (why := missing()):
        print(f"board-chroot: cannot run here: {why}; --wheels needs nothing of it", file=sys.stderr)
        return 2
    report, system = Report(), System(HOME)
    with tempfile.TemporaryDirectory(prefix="eddy-chroot-") as scratch:
        folder = Path(scratch)
        resolve(report, folder)
        if arguments.wheels:
            return int(report.failed)
        system.make()
        put_wheels(system, folder)
    try:
        _try_out(report, system)
    finally:
        system.remove()
    return int(report.failed)


def _try_out(report: Report, system: System) -> None:
    if report.attempt(f"install {NAME}[serve]", lambda: installed(system, "serve", SERVE_CEILING_BYTES)):
        report.attempt("serve --board model", lambda: job(system))
    if report.attempt(f"install {NAME}[serve,board]", lambda: installed(system, "serve,board", BOARD_CEILING_BYTES)):
        report.attempt("eddy boardd --board pynq", lambda: boardd(system))
        report.attempt("eddy install, then --remove --purge", lambda: untouched(system))


if __name__ == "__main__":
    sys.exit(main())
