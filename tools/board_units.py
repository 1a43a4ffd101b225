# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""`make board-units`: the services of `eddy install` under systemd, in a container: killed, hung, rebooted, removed.

The units are those that a board gets, but for one file beside each, which puts simulated RTL in place of the board. A
bare Debian (made once) boots by systemd-nspawn. Needs root, mmdebstrap and systemd-container. No part of `make test`.
Each line says PASS or FAIL; the exit status is 1 after a FAIL, 2 where it cannot run here.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from eddy.board.port.profile import load_profile
from eddy_sim.design import bitstreams, build

ROOT = Path(__file__).resolve().parents[1]
HOME = ROOT / "build" / "board-units"
PACKAGES = "python3,systemd,dbus,udev"
BOUND_S = 300.0
"""Wall seconds until something counts as not happening; a watchdog takes a minute of it."""
BOARDD, SERVE, GATEWAY = "eddy-boardd.service", "eddy-serve.service", "eddy-gateway.service"
VENV = "opt/eddy/1"
_INSTEAD = """\
[Unit]
ConditionPathExists=
[Service]
Environment=EDDY_BUILD_DIR={build} PYTHONDONTWRITEBYTECODE=1
ReadWritePaths={build}
ExecStart=
ExecStart=/opt/eddy/current/bin/eddy {command}
"""
_COMMANDS = {
    BOARDD: "boardd --board rtl --profile tiny --socket /run/eddy/boardd.sock --notary /var/lib/eddy-boardd/notary",
    SERVE: "serve --board rtl --profile tiny --boardd /run/eddy/boardd.sock --data /var/lib/eddy",
}


def missing() -> str:
    """What has to be done first; "" where nothing has."""
    if os.geteuid() != 0:
        return "needs root (a container with an init of its own)"
    lacking = {"systemd-nspawn": "systemd-container", "mmdebstrap": "mmdebstrap", "nsenter": "util-linux"}
    packages = [package for program, package in lacking.items() if shutil.which(program) is None]
    if packages:
        return f"apt-get install {' '.join(packages)}"
    return "" if sys.version_info[:2] == (3, 11) else "the environment needs Python 3.11, which Debian 12 has"


class Machine:
    """A machine of its own in a folder, with Eddy's environment in /opt/eddy/1."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.build = Path(os.environ.get("EDDY_BUILD_DIR", ROOT / "build"))
        self._nspawn: subprocess.Popen[bytes] | None = None
        self._init = 0

    def prepare(self) -> None:
        """Copy the bare system, and put the environment in: its packages are this tree's own."""
        # Nothing is compiled under the services' bounds.
        bitstreams.list_or_build("tiny")
        build.build_shell(build.ShellShape.of(load_profile("tiny")))
        base = HOME / "base"
        if not (HOME / "ready").exists():
            print("board-units: making a bare Debian (once)", flush=True)
            shutil.rmtree(base, ignore_errors=True)
            HOME.mkdir(parents=True, exist_ok=True)
            options = ["--quiet", "--variant=minbase", f"--include={PACKAGES}"]
            subprocess.run(["mmdebstrap", *options, "bookworm", str(base)], check=True, stdin=subprocess.DEVNULL)
            (HOME / "ready").touch()
        subprocess.run(["cp", "-a", "--reflink=auto", str(base), str(self.root)], check=True)
        environment = self.root / VENV
        (environment / "bin").mkdir(parents=True)
        (environment / "lib/python3.11/site-packages").mkdir(parents=True)
        (environment / "pyvenv.cfg").write_text("home = /usr/bin\nversion = 3.11\n")
        (environment / "bin/python").symlink_to("/usr/bin/python3.11")
        program = environment / "bin/eddy"
        program.write_text("#!/opt/eddy/1/bin/python\nfrom eddy.__main__ import main\nmain()\n")
        program.chmod(0o755)
        for unit, command in _COMMANDS.items():
            folder = self.root / "etc/systemd/system" / f"{unit}.d"
            folder.mkdir(parents=True)
            (folder / "simulated.conf").write_text(_INSTEAD.format(command=command, build=self.build))

    def boot(self) -> None:
        """Boot, and wait until commands can be run in it."""
        packages = Path(sys.prefix) / "lib/python3.11/site-packages"
        binds = [
            f"--bind-ro={ROOT}",
            f"--bind={self.build}",
            f"--bind-ro={packages}:/{VENV}/lib/python3.11/site-packages",
        ]
        command = [
            "systemd-nspawn",
            "--quiet",
            "--register=no",
            "--keep-unit",
            f"--directory={self.root}",
            *binds,
            "--boot",
        ]
        with (HOME / "console.log").open("ab") as log:
            self._nspawn = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        children = Path(f"/proc/{self._nspawn.pid}/task/{self._nspawn.pid}/children")
        wait_until("it boots", lambda: bool(children.read_text().split()))
        self._init = int(children.read_text().split()[0])
        wait_until(
            "systemd answers", lambda: self.run("systemctl is-system-running").stdout.strip() in ("running", "degraded")
        )

    def halt(self) -> None:
        """Shut down in good order."""
        assert self._nspawn is not None
        self.run("systemctl poweroff")
        self._nspawn.wait(BOUND_S)

    def close(self) -> None:
        """End it, whatever state it is in."""
        if self._nspawn is not None and self._nspawn.poll() is None:
            self._nspawn.terminate()
            self._nspawn.wait(BOUND_S)

    def run(self, command: str) -> subprocess.CompletedProcess[str]:
        """Run a shell command in it, as its root."""
        enter = ["nsenter", f"--target={self._init}", "--all", "env", "-i", "PATH=/usr/sbin:/usr/bin:/sbin:/bin"]
        return subprocess.run([*enter, "sh", "-c", command], capture_output=True, text=True, stdin=subprocess.DEVNULL)

    def said(self, unit: str, name: str) -> str:
        """What systemd says of a unit."""
        return self.run(f"systemctl show --value -p {name} {unit}").stdout.strip()

    def active(self, *units: str) -> bool:
        """Whether units are up: `READY=1` has come from each."""
        return all(self.said(unit, "ActiveState") == "active" for unit in units)


class MachineStuck(Exception):
    """Something did not happen in time."""


def wait_until(what: str, happened: Callable[[], bool]) -> None:
    """Wait for something.

    Raises:
        Stuck: It did not happen.
    """
    end_s = time.monotonic() + BOUND_S
    while not happened():
        if time.monotonic() > end_s:
            raise MachineStuck(f"after {BOUND_S:.0f} s, not yet: {what}")
        time.sleep(0.5)


def _identify(folder: Path) -> None:
    """Give the gateway a certificate and a key that opens it."""
    from eddy.board.images.signing import generate

    keys = folder / "gateway-keys"
    keys.mkdir(parents=True)
    names = ["-subj", "/CN=board", "-addext", "subjectAltName=IP:127.0.0.1"]
    files = ["-keyout", str(folder / "gateway-key.pem"), "-out", str(folder / "gateway.pem")]
    made = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2"]
    subprocess.run([*made, *names, *files], check=True, capture_output=True)
    generate(folder / "operator")
    (folder / "operator.pub").rename(keys / "operator.pub")


def check_restart(machine: Machine, unit: str, signal: str) -> str:
    """A service that a signal ends, or stops, is started again by systemd, and says that it is ready."""
    before, process = int(machine.said(unit, "NRestarts")), machine.said(unit, "MainPID")
    began_s = time.monotonic()
    machine.run(f"kill -{signal} {process}")
    wait_until(f"{unit} was started again", lambda: int(machine.said(unit, "NRestarts")) > before)
    wait_until(f"{unit} is ready", lambda: machine.active(BOARDD, SERVE))
    why = machine.run(f"journalctl -q -u {unit} -o cat | grep -c -i 'watchdog timeout'").stdout.strip()
    return f"back after {time.monotonic() - began_s:.0f} s{f', watchdog timeouts: {why}' if signal == 'STOP' else ''}"


def steps(machine: Machine) -> list[tuple[str, Callable[[], str]]]:
    """What is tried, in order."""

    def install() -> str:
        done = machine.run("/opt/eddy/1/bin/eddy install --profile kv260")
        if done.returncode:
            raise MachineStuck(done.stderr)
        wait_until("both services are ready", lambda: machine.active(BOARDD, SERVE))
        return f"both ready; socket of {machine.run('stat -c %U:%G /run/eddy/boardd.sock').stdout.strip()}"

    def work() -> str:
        done = machine.run("EDDY_DATA=/var/lib/eddy /opt/eddy/1/bin/eddy tenant add alice && ls /var/lib/eddy")
        if done.returncode:
            raise MachineStuck(done.stderr)
        return "a tenant was added over HTTP"

    def reboot() -> str:
        machine.halt()
        machine.boot()
        wait_until("both services are ready", lambda: machine.active(BOARDD, SERVE))
        done = machine.run("EDDY_DATA=/var/lib/eddy /opt/eddy/1/bin/eddy tenant list")
        if "alice" not in done.stdout:
            raise MachineStuck(f"the tenant is not there: {done.stdout}{done.stderr}")
        return "both ready by themselves, the tenant is there"

    def gateway() -> str:
        command = "/opt/eddy/1/bin/eddy install --profile kv260 --gateway"
        if not machine.run(command).returncode:
            raise MachineStuck("it was installed without a certificate")
        _identify(machine.root / "etc/eddy")
        done = machine.run(command)
        if done.returncode or machine.active(GATEWAY):
            raise MachineStuck(f"it must be there, and off: {done.stderr}")
        wait_until("both services are ready", lambda: machine.active(BOARDD, SERVE))
        machine.run(f"systemctl start {GATEWAY}")
        wait_until("the gateway is ready", lambda: machine.active(BOARDD, GATEWAY))
        if machine.active(SERVE):
            raise MachineStuck("eddy-serve goes on beside it")
        called = machine.run(f"/opt/eddy/1/bin/python {ROOT}/tools/gateway_profile.py")
        if called.stdout.strip() != "tiny":
            raise MachineStuck(f"the board was not reached through it: {called.stdout}{called.stderr}")
        process = machine.said(GATEWAY, "MainPID")
        user = machine.run(f"stat -c %u /proc/{process}").stdout.strip()
        machine.run(f"systemctl start {SERVE}")
        wait_until("eddy-serve is back", lambda: machine.active(BOARDD, SERVE))
        if machine.active(GATEWAY):
            raise MachineStuck("the gateway goes on beside eddy-serve")
        return f"off until started, as user {user}, reached by TLS, and off again when eddy-serve is started"

    def remove() -> str:
        machine.run("/opt/eddy/1/bin/eddy install --remove --purge")
        found = "find / -xdev -path /proc -prune -o -path /opt/eddy/1 -prune -o -name '*eddy*' -print"
        machine.run("rm -r /etc/eddy")  # what a person put there
        beside = ("simulated.conf", ".service.d", "/opt/eddy", "/var/log", str(ROOT), str(machine.build))
        lines = machine.run(found).stdout.split()
        left = [line for line in lines if not any(each in line for each in beside)]
        users = machine.run("getent passwd eddy; getent group eddy-board").stdout
        if left or users:
            raise MachineStuck(f"left: {left} {users}")
        return "no file, user or group is left"

    return [
        ("eddy install", install),
        ("eddy serve works", work),
        ("gateway", gateway),
        ("boardd killed (SIGKILL)", lambda: check_restart(machine, BOARDD, "KILL")),
        ("serve killed (SIGKILL)", lambda: check_restart(machine, SERVE, "KILL")),
        ("boardd hangs (SIGSTOP)", lambda: check_restart(machine, BOARDD, "STOP")),
        ("serve hangs (SIGSTOP)", lambda: check_restart(machine, SERVE, "STOP")),
        ("reboot", reboot),
        ("eddy install --remove --purge", remove),
    ]


def main() -> int:
    """Run; the exit status is 1 where something failed, 2 where it cannot run here."""
    if why := missing():
        print(f"board-units: cannot run here: {why}", file=sys.stderr)
        return 2
    machine = Machine(HOME / f"root-{os.getpid()}")
    failed = False
    try:
        machine.prepare()
        machine.boot()
        for name, step in steps(machine):
            try:
                print(f"PASS  {name}: {step()}", flush=True)
            except MachineStuck as stuck:
                print(f"FAIL  {name}: {stuck}", flush=True)
                print(machine.run("journalctl -q --no-pager -n 30 -u 'eddy-*'").stdout, file=sys.stderr)
                failed = True
    finally:
        machine.close()
        shutil.rmtree(machine.root, ignore_errors=True)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
