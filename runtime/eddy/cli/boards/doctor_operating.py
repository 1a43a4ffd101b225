# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What `eddy doctor` says of a server that is left running: clock, slots, boardd, schema, certificate, versions."""

from __future__ import annotations

import contextlib
import email.utils
import os
import re
import shutil
import stat
import subprocess
import time
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote

from eddy.core.errors import EddyError
from eddy.host import distribution
from eddy.settings import SETTINGS

Finding = tuple[str, bool, str, str]
"""What was looked at, whether it is well, what was found, and what helps where it is not."""
EARLIEST_UNIX_S = 1_767_225_600.0
"""2026-01-01: no board is older; one without a battery for its clock starts in 1970."""
MAX_APART_S = 5.0
SOON_S = 14 * 86_400.0
_SET_CLOCK = "set the clock: `timedatectl set-ntp true`"


def clock(now_s: float, data: Path) -> Iterator[Finding]:
    """Whether this machine's time can be right."""
    shown = time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(now_s))
    if now_s < EARLIEST_UNIX_S:
        yield "clock", False, f"{shown}: before this Eddy was made", _SET_CLOCK
        return
    latest_s = _latest_entry_s(data / "eddy.sqlite3")
    if latest_s > now_s + MAX_APART_S:
        found = f"{shown}, but the audit log has an entry from {latest_s - now_s:.0f} s later"
        yield "clock", False, found, f"it was put back: {_SET_CLOCK}"
        return
    kept = _kept_in_time()
    how = {True: ", kept by a time server", False: ", kept by no time server", None: ""}[kept]
    found = f"{shown}{how}"
    yield "clock", kept is not False, found, _SET_CLOCK


def _kept_in_time() -> bool | None:
    """Whether a time server keeps the clock; None where this system does not say."""
    if shutil.which("timedatectl") is None:
        return None
    command = ["timedatectl", "show", "--property=NTPSynchronized", "--value"]
    with contextlib.suppress(OSError, subprocess.TimeoutExpired):
        said = subprocess.run(command, capture_output=True, text=True, timeout=10, check=False).stdout.strip()
        return {"yes": True, "no": False}.get(said)
    return None


def _latest_entry_s(database: Path) -> float:
    """When the audit log's newest entry is from; 0 where there is none to be read."""
    found = _ask(database, "SELECT max(at_unix_s) FROM audit")
    return float(found) if isinstance(found, (int, float)) else 0.0


def _ask(database: Path, query: str) -> object:
    """The first value a query answers; None where there is none, or no data base that can be read."""
    import sqlite3

    if not database.is_file():
        return None
    mode = "mode=ro" if database.with_name(database.name + "-wal").exists() else "immutable=1"
    with (
        contextlib.suppress(sqlite3.Error),
        contextlib.closing(sqlite3.connect(f"file:{quote(str(database))}?{mode}", uri=True)) as connection,
    ):
        row = connection.execute(query).fetchone()
        return row[0] if row else None
    return None


def schema(data: Path) -> Iterator[Finding]:
    """Whether this Eddy can use a data folder's data base."""
    from eddy.store.db.schema import MIGRATIONS

    version = _ask(data / "eddy.sqlite3", "PRAGMA user_version")
    if not isinstance(version, int):
        return
    known = len(MIGRATIONS)
    if version > known:
        advice = "upgrade Eddy, or restore a backup of this version: `eddy restore`"
        yield "schema", False, f"{version}; this Eddy knows {known}", advice
    elif version < known:
        yield "schema", True, f"{version}, to be {known} at the next start; `eddy backup` first", ""
    else:
        yield "schema", True, f"{version}, the newest", ""


def boardd(environment: Mapping[str, str]) -> Iterator[Finding]:
    """Whether the boardd that the settings name can be reached, and signs the audit log."""
    named = str(SETTINGS["boardd"].value(environment))
    if not named:
        return
    path = Path(named)
    start = f"start it: `eddy boardd --socket {path}`"
    if not path.exists():
        yield "boardd", False, f"nothing at {path}", start
        return
    if not stat.S_ISSOCK(path.stat().st_mode):
        yield "boardd", False, f"{path} is no socket", f"move it away, and {start}"
        return
    if not os.access(path, os.R_OK | os.W_OK):
        yield "boardd", False, f"user {os.geteuid()} may not use {path}", "add the user to the socket's group"
        return
    from eddy.board.remote.notary_client import NotaryClient

    try:
        count = len(NotaryClient(path).heads())
    except EddyError as error:
        yield "boardd", False, error.message, f"end what is left of it, and {start}"
        return
    yield "boardd", True, f"{path}, signed {count} heads of the audit log", ""


def certificate(environment: Mapping[str, str], now_s: float) -> Iterator[Finding]:
    """Whether the certificate that the settings name can be used, and for how long."""
    from eddy.api.service.tls import TlsFiles

    named = [str(SETTINGS[name].value(environment)) for name in ("tls_cert", "tls_key")]
    try:
        files = TlsFiles.named(*named)
    except EddyError as error:
        yield "certificate", False, error.message, "set EDDY_TLS_CERT and EDDY_TLS_KEY, or neither"
        return
    if files is None:
        return
    from cryptography import x509

    ends_s = x509.load_pem_x509_certificate(files.certificate.read_bytes()).not_valid_after_utc.timestamp()
    days = (ends_s - now_s) / 86_400
    advice = "renew it, and send SIGHUP to `eddy serve`"
    if files.key_is_loose:
        yield "certificate", False, f"others can read {files.key}", f"chmod 600 {files.key}"
    elif ends_s - now_s < SOON_S:
        found = f"ends in {days:.0f} days" if days >= 0 else "has ended"
        yield "certificate", False, f"{files.certificate} {found}", advice
    else:
        yield "certificate", True, f"valid for {days:.0f} days", ""


def slots(found: Iterable[Mapping[str, Any]]) -> Iterator[Finding]:
    """Whether slots are closed by their decouplers after a fault, or drained; of a server that answers."""
    listed = list(found)
    if not listed:
        return
    faulted = [str(slot["slot"]) for slot in listed if slot["phase"] == "faulted"]
    unknown = [str(slot["slot"]) for slot in listed if slot["phase"] == "unknown"]
    drained = [slot for slot in listed if slot["drained"]]
    if unknown:
        yield "decouplers", False, f"not known of slots {', '.join(unknown)}: the board is away", "start `eddy boardd`"
    elif faulted:
        advice = "the next load opens them; where they fail again, drain them: `eddy drain SLOT`"
        yield "decouplers", False, f"closed after a fault: slots {', '.join(faulted)}", advice
    else:
        yield "decouplers", True, f"{len(listed)} slots, none closed after a fault", ""
    for slot in drained:
        why = slot["drained_because"] or "drained"
        yield f"slot {slot['slot']}", False, why, f"once it is mended: `eddy undrain {slot['slot']}`"


def server(metrics: str, date: str, now_s: float) -> Iterator[Finding]:
    """Whether client and server are of one version, and their clocks agree.

    Args:
        metrics: What the server has at `/metrics`; "" where that is not known.
        now_s: This machine's wall time.
    """
    ours = distribution.version()
    theirs = re.search(r'^eddy_build\{version="([^"]+)"\}', metrics, re.MULTILINE)
    if theirs is not None:
        same = theirs[1] == ours
        found = ours if same else f"{ours} here, {theirs[1]} at the server"
        yield "versions", same, found, "install the same version on both"
    stamp = email.utils.parsedate_to_datetime(date).timestamp() if date else now_s
    apart_s = stamp - now_s
    good = abs(apart_s) <= MAX_APART_S
    # A date has whole seconds, and the answer takes its time: less than two seconds tell nothing.
    apart = f"the server's is {abs(apart_s):.0f} s {'ahead' if apart_s > 0 else 'behind'}"
    yield "clocks", good, "they agree" if abs(apart_s) < 2.0 else apart, _SET_CLOCK
