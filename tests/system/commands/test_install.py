# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""`eddy install` in a folder: what it writes, going back, and that removal leaves the folder as it was."""

from __future__ import annotations

import re
import shutil
import socket
import subprocess
from pathlib import Path

import pytest
from eddy.board.images.package import seal
from eddy.board.pynq.competing_loaders import LOADERS
from eddy.cli.boards.install_files import GATEWAY, UNITS
from eddy.host.notify import Notifier
from forks_kit import forks

SCORES = {"eddy-boardd.service": 2.5, "eddy-serve.service": 1.9, GATEWAY: 1.9}


def install(root: Path, *options: str) -> subprocess.CompletedProcess[str]:
    return forks().eddy("install", "--root", str(root), *options)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """The folders every system has, and some files of others."""
    for folder in ("etc/systemd/system", "etc/udev/rules.d", "usr/lib/sysusers.d", "opt/other", "var/lib/other"):
        (tmp_path / "root" / folder).mkdir(parents=True)
    (tmp_path / "root/etc/udev/rules.d/60-other.rules").write_text("# somebody else's\n")
    return tmp_path / "root"


def environment(tmp_path: Path, name: str) -> Path:
    folder = tmp_path / name
    (folder / "bin").mkdir(parents=True)
    (folder / "lib" / "python3.10").mkdir(parents=True)
    (folder / "bin" / "eddy").write_text("#!/bin/sh\n")
    (folder / "bin" / "eddy").chmod(0o755)
    return folder


def tree(root: Path) -> dict[str, str]:
    """Every path below a folder, with its mode and what it holds."""
    found = {}
    for path in sorted(root.rglob("*")):
        held = str(path.readlink()) if path.is_symlink() else path.read_text() if path.is_file() else ""
        found[str(path.relative_to(root))] = f"{path.lstat().st_mode:o} {held}"
    return found


def test_removal_leaves_the_file_system_as_it_was(root: Path, tmp_path: Path) -> None:
    before = tree(root)
    done = install(root, "--profile=kv260", f"--environment={environment(tmp_path, 'one')}")
    assert done.returncode == 0, done.stderr
    new = set(tree(root)) - set(before)
    assert {Path(name).name for name in new} >= {*UNITS, "eddy.conf", "70-eddy.rules", "current"}
    for unit in ("dfx-mgr.service", "snap.fpgad.daemon.service", "fpgad.service"):
        keeps_out = (root / f"etc/systemd/system/{unit}.d/eddy.conf").read_text()
        assert "ConditionPathExists=!/opt/eddy/current" in keeps_out
    assert "--profile kv260" in (root / "etc/systemd/system/eddy-serve.service").read_text()
    (root / "var/lib/eddy").mkdir()
    (root / "var/lib/eddy/eddy.db").write_text("jobs")
    assert install(root, "--remove").returncode == 0
    assert (root / "var/lib/eddy/eddy.db").read_text() == "jobs", "jobs stay unless they are to go"
    assert install(root, "--remove", "--purge").returncode == 0
    assert tree(root) == before


def test_bitstreams_are_checked_put_where_boardd_looks_and_taken_away(root: Path, tmp_path: Path) -> None:
    package = tmp_path / "package"
    package.mkdir()
    (package / "eddy.bit").write_bytes(b"fabric")
    seal(package, {"profile": "kv260", "part": "p", "shell": "s"}, None)
    before = tree(root)
    options = ("--profile=kv260", f"--environment={environment(tmp_path, 'one')}", f"--bitstreams={package}")
    (package / "eddy.bit").write_bytes(b"other")
    refused = install(root, *options)
    assert refused.returncode != 0
    assert "is damaged" in refused.stderr
    assert tree(root) == before
    (package / "eddy.bit").write_bytes(b"fabric")
    assert install(root, *options).returncode == 0
    assert (root / "lib/firmware/eddy/kv260/eddy.bit").read_bytes() == b"fabric"
    assert install(root, "--remove").returncode == 0
    assert {*tree(root)} - {*before} == {"lib", "lib/firmware"}


def test_an_upgrade_and_the_way_back_are_a_link(root: Path, tmp_path: Path) -> None:
    one, two = environment(tmp_path, "one"), environment(tmp_path, "two")
    for folder in (one, two, two):
        assert install(root, "--profile=tiny", f"--environment={folder}").returncode == 0
    current = root / "opt/eddy/current"
    assert current.readlink() == two
    assert install(root, "--rollback").returncode == 0
    assert current.readlink() == one
    assert install(root, "--rollback").returncode == 0
    assert current.readlink() == two


def identify(root: Path) -> None:
    """What a gateway needs, as far as `eddy install` looks."""
    for name in ("gateway.pem", "gateway-key.pem", "gateway-keys/operator.pub"):
        (root / "etc/eddy" / name).parent.mkdir(parents=True, exist_ok=True)
        (root / "etc/eddy" / name).touch()


def test_a_gateway_is_there_only_where_asked_for_stays_over_upgrades_and_goes(root: Path, tmp_path: Path) -> None:
    one, two = environment(tmp_path, "one"), environment(tmp_path, "two")
    unnamed = install(root, "--profile=tiny", f"--environment={one}", "--gateway")
    assert unnamed.returncode != 0
    assert "needs gateway.pem, gateway-key.pem, gateway-keys/*.pub" in unnamed.stderr
    identify(root)
    before = tree(root)
    unit = root / "etc/systemd/system" / GATEWAY
    assert install(root, "--profile=tiny", f"--environment={one}").returncode == 0
    assert not unit.exists()
    asked = install(root, "--profile=tiny", f"--environment={one}", "--gateway")
    assert "is there, and off" in asked.stderr
    text = unit.read_text()
    assert "[Install]" not in text, "nothing starts it but an operator"
    assert "--tls-key ${CREDENTIALS_DIRECTORY}/gateway-key.pem" in text
    assert "Conflicts=eddy-serve.service" in text
    unit.write_text("# of an older release\n")
    assert install(root, "--profile=tiny", f"--environment={two}").returncode == 0
    assert unit.read_text() == text, "an upgrade brings its own"
    assert install(root, "--rollback").returncode == 0
    assert unit.read_text() == text
    assert install(root, "--profile=tiny", f"--environment={two}", "--no-gateway").returncode == 0
    assert not unit.exists()
    assert install(root, "--profile=tiny", f"--environment={two}", "--gateway").returncode == 0
    assert install(root, "--remove").returncode == 0
    assert tree(root) == before


def test_uio_is_there_before_boardds_devices_are_looked_up(root: Path, tmp_path: Path) -> None:
    assert install(root, "--profile=kv260", f"--environment={environment(tmp_path, 'one')}").returncode == 0
    lines = (root / "etc/systemd/system/eddy-boardd.service").read_text().splitlines()
    assert "DeviceAllow=char-uio rw" in lines
    for word in ("Wants", "After"):
        assert f"{word}=modprobe@uio_pdrv_genirq.service" in lines


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--rollback"], "no environment to go back to"),
        (["--purge"], "--purge goes with --remove"),
        (["--profile=nothing"], "nothing"),
        (["--profile=tiny", "--environment=/nowhere"], "no bin/eddy"),
    ],
)
def test_what_cannot_be_done_says_why_and_writes_nothing(root: Path, options: list[str], said: str) -> None:
    before = tree(root)
    done = install(root, *options)
    assert done.returncode != 0
    assert said in done.stderr
    assert tree(root) == before


needs_systemd = pytest.mark.skipif(
    not shutil.which("systemd-analyze"), reason="systemd-analyze is not here (Debian package systemd)"
)


@needs_systemd
@pytest.mark.parametrize("other", [unit for loader in LOADERS for unit in loader.units])
def test_another_loader_does_not_start_beside_eddy(root: Path, tmp_path: Path, other: str) -> None:
    assert install(root, "--profile=kv260", f"--environment={environment(tmp_path, 'one')}").returncode == 0
    unit = root / "etc/systemd/system" / other
    unit.write_text("[Service]\nExecStart=/bin/true\n")
    merged = subprocess.run(["systemd-analyze", "verify", "--man=no", str(unit)], capture_output=True, text=True)
    assert [line for line in merged.stderr.splitlines() if other in line] == []
    condition = next(
        line for line in (unit.with_name(f"{other}.d") / "eddy.conf").read_text().splitlines() if "Condition" in line
    )
    here = condition.replace("/opt/eddy/current", str(root / "opt/eddy/current"))
    assert subprocess.run(["systemd-analyze", "condition", here], capture_output=True).returncode == 1
    assert install(root, "--remove").returncode == 0
    assert subprocess.run(["systemd-analyze", "condition", here], capture_output=True).returncode == 0


@needs_systemd
@pytest.mark.parametrize("unit", SCORES)
def test_units_are_well_formed_and_hardened(root: Path, tmp_path: Path, unit: str) -> None:
    identify(root)
    options = ("--profile=kv260", f"--environment={environment(tmp_path, 'one')}", "--gateway")
    assert install(root, *options).returncode == 0
    file = root / "etc/systemd/system" / unit
    # The program lies below the root that is not this machine's: any program that is here stands for it.
    shown = tmp_path / "units" / unit
    shown.parent.mkdir()
    shown.write_text(file.read_text().replace("/opt/eddy/current/bin/eddy", "/bin/true"))
    verified = subprocess.run(["systemd-analyze", "verify", str(shown)], capture_output=True, text=True)
    complaints = [line for line in verified.stderr.splitlines() if unit in line]
    assert complaints == []
    scored = subprocess.run(
        ["systemd-analyze", "security", "--offline=true", "--no-pager", str(shown)], capture_output=True, text=True
    )
    found = re.search(r"exposure level for \S+: ([0-9.]+)", scored.stdout)
    assert found, scored.stdout + scored.stderr
    assert float(found[1]) <= SCORES[unit]


def test_the_service_manager_is_told_once_and_on_time(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(str(tmp_path / "notify"))
        said = {"NOTIFY_SOCKET": str(tmp_path / "notify"), "WATCHDOG_USEC": "3000000000"}
        notifier = Notifier(said)
        assert said == {}, "no child of the service may speak for it"
        assert notifier.interval_s == 1000.0
        notifier.tell("READY=1")
        notifier.send_watchdog()
        notifier.send_watchdog()
        manager.setblocking(False)
        heard = []
        while True:
            try:
                heard.append(manager.recv(100))
            except BlockingIOError:
                break
    assert heard == [b"READY=1", b"WATCHDOG=1"]
    Notifier({}).tell("READY=1")
    assert Notifier({"WATCHDOG_USEC": "3000000"}).interval_s is None
    other = {"NOTIFY_SOCKET": str(tmp_path / "notify"), "WATCHDOG_USEC": "3000000", "WATCHDOG_PID": "1"}
    assert Notifier(other).interval_s is None, "the watchdog is meant for another process"
    Notifier(other).tell("READY=1")
