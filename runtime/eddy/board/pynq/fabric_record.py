# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Whose design is on the fabric, said before any register is read.

A load from a register of a design that is not there can stop the processor for good, so the fabric itself cannot be
asked. What can be asked is a record of ours in memory (`/run`), and the kernel: whether the fabric operates at all,
which boot this is, what was loaded last, and which device-tree overlays are in place. PYNQ's record in site-packages is
not used: it outlives a reboot, others' loads do not change it, and after one failed load it says that nothing is there.
"""

from __future__ import annotations

import enum
import hashlib
import json
import os
import re
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any

from eddy.board.port.clock import since_boot_s
from eddy.board.pynq.fpga_manager import PARTIAL_NAME
from eddy.host.files import write_private

BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
OVERLAYS = Path("/sys/kernel/config/device-tree/overlays")
KERNEL_LOG = Path("/dev/kmsg")
_LOADED = re.compile(rb"fpga_manager [^:]+: writing (\S+) to ")
_POWERED_UP = frozenset({"unknown", "power off", "power up", "reset"})
_OPERATING = "operating"


class DesignStanding(enum.Enum):
    """What is on the fabric."""

    EMPTY = "empty"
    """Nothing since power-up."""
    OURS = "ours"
    """The overlay that is to be opened, configured in this boot. Its slots may be at work, and are closed first."""
    TO_CONFIGURE = "to-configure"
    """Ours, but another version, or the load of it never ended: it is configured again."""
    FOREIGN = "foreign"
    """Somebody else's."""


@dataclass(frozen=True)
class Record:
    """What we loaded.

    Attributes:
        boot_id: During which boot.
        overlay_sha256: Of the `.bit` file.
        configured: Whether its load has ended well.
        last_partial: How the last partial load ended: ``""`` (none), ``begun``, ``failed`` or ``done``.
        full_name: Under which name the kernel was given the overlay.
        overlays: Device-tree overlays that were in place.
        configured_s: When the load was begun, in seconds since boot; board time counts from there.
    """

    boot_id: str
    overlay_sha256: str
    configured: bool = False
    configured_s: float = 0.0
    last_partial: str = ""
    full_name: str = "eddy.bin"
    overlays: tuple[str, ...] = ()


@dataclass(frozen=True)
class Evidence:
    """What the kernel says.

    Attributes:
        state: The FPGA manager's state.
        boot_id: Which boot this is.
        last_loaded: Name of the file that was loaded last in this boot; None where the log does not say (any more).
        overlays: Device-tree overlays in place.
    """

    state: str
    boot_id: str
    last_loaded: str | None = None
    overlays: tuple[str, ...] = ()


def judge_design(record: Record | None, evidence: Evidence, overlay_sha256: str) -> tuple[DesignStanding, str]:
    """What is on the fabric, and why that is thought. In doubt it is somebody else's.

    Args:
        record: What we wrote down, if anything.
        evidence: What the kernel says.
        overlay_sha256: Of the overlay that is to be opened.
    """
    if evidence.state in _POWERED_UP:
        return DesignStanding.EMPTY, f"the FPGA manager says {evidence.state!r}: nothing was loaded since power-up"
    if record is None:
        return DesignStanding.FOREIGN, f"the fabric is {evidence.state!r}, and Eddy has loaded nothing since this boot"
    if record.boot_id != evidence.boot_id:
        return (
            DesignStanding.FOREIGN,
            f"the fabric is {evidence.state!r}, and what Eddy wrote down is of an earlier boot",
        )
    if evidence.last_loaded not in (None, record.full_name, PARTIAL_NAME):
        return DesignStanding.FOREIGN, f"after Eddy's design, {evidence.last_loaded} was loaded"
    if record.overlays != evidence.overlays:
        changed = sorted({*record.overlays} ^ {*evidence.overlays})
        return (
            DesignStanding.FOREIGN,
            f"since Eddy's design was loaded, device-tree overlays changed: {', '.join(changed)}",
        )
    if not record.configured:
        return DesignStanding.TO_CONFIGURE, "the load of Eddy's design was begun in this boot and has not ended well"
    if record.overlay_sha256 != overlay_sha256:
        return DesignStanding.TO_CONFIGURE, "Eddy's design on the fabric is of another version"
    if evidence.state != _OPERATING and record.last_partial not in ("begun", "failed"):
        return DesignStanding.FOREIGN, f"the FPGA manager says {evidence.state!r}, and no load of Eddy's has failed"
    return (
        DesignStanding.OURS,
        "Eddy's design was loaded in this boot, and nothing since then but its partial bitstreams",
    )


class FabricRecord:
    """The record's file, and what the kernel is asked.

    Args:
        path: Where it lies: in memory, so that it ends with the boot.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self.kept = self._read()

    def begin(self, overlay_sha256: str) -> None:
        """Write down that the fabric is about to be configured: before the load, so that no end of power lies."""
        self._write(Record(boot_id(), overlay_sha256, configured_s=since_boot_s()))

    def configured(self) -> None:
        """Write down that it is, with what else is in place."""
        assert self.kept is not None
        self._write(replace(self.kept, configured=True, overlays=overlays()))

    def partial(self, how: str) -> None:
        """Write down that a partial load has begun, or how it ended: ``begun``, ``failed``, ``done``."""
        if self.kept is not None:
            self._write(replace(self.kept, last_partial=how))

    def _read(self) -> Record | None:
        try:
            return _parsed(json.loads(self._path.read_text(encoding="utf-8")))
        except (OSError, ValueError, KeyError, TypeError):
            return None  # no record, or a damaged one: nothing is claimed

    def _write(self, record: Record) -> None:
        self.kept = record
        write_private(self._path, json.dumps(asdict(record)).encode())


def _parsed(data: Any) -> Record:
    """A record as any release writes it: what this one does not know is left out, what it misses is as at the start.

    Raises:
        KeyError, TypeError, ValueError: It does not say during which boot which overlay was loaded, or says nonsense.
    """
    known = {field.name: data[field.name] for field in fields(Record) if field.name in data}
    record = Record(**{**known, "overlays": tuple(known.get("overlays", ()))})
    for field in fields(Record):
        wanted, found = type(getattr(_EXAMPLE, field.name)), getattr(record, field.name)
        if type(found) is not wanted:
            raise TypeError(f"{field.name} is {found!r}")
    return record


_EXAMPLE = Record("", "")


def read_evidence(state: str) -> Evidence:
    """Ask the kernel."""
    return Evidence(state, boot_id(), last_loaded(), overlays())


def boot_id() -> str:
    """Which boot this is."""
    return BOOT_ID.read_text(encoding="ascii").strip()


def overlays() -> tuple[str, ...]:
    """Device-tree overlays in place."""
    try:
        return tuple(sorted(entry.name for entry in OVERLAYS.iterdir()))
    except OSError:
        return ()


def last_loaded(log: Path = KERNEL_LOG) -> str | None:
    """Name of the bitstream the kernel loaded last, from its log; None where it cannot be read or has scrolled by."""
    try:
        descriptor = os.open(log, os.O_RDONLY | os.O_NONBLOCK)
    except OSError:
        return None
    found = None
    try:
        while record := _next(descriptor):
            for name in _LOADED.findall(record):
                found = name.decode(errors="replace")
    finally:
        os.close(descriptor)
    return found


def _next(descriptor: int) -> bytes:
    """The next record of the kernel's log; b"" at its end."""
    while True:
        try:
            return os.read(descriptor, 8192)
        except BrokenPipeError:
            continue  # it was overwritten meanwhile: the next one is there
        except OSError:
            return b""


def sha256_of(file: Path) -> str:
    """Of a file's bytes."""
    return hashlib.sha256(file.read_bytes()).hexdigest()
