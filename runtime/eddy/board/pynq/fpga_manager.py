# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The kernel's FPGA manager on a Zynq UltraScale+: a bitstream goes in as a file below /lib/firmware.

A write of the file's name to `firmware` comes back when the load has ended. The driver looks at two things, that the
port was idle and that DONE is high, and DONE stays high during a partial load: a partial bitstream with a wrong CRC
comes back **without** an error. Only the identity of what is in the slot says that a partial load was good.

Ref: Linux `drivers/fpga/zynqmp-fpga.c`, Xilinx's `fpga-mgr.c` (sysfs `flags`, `firmware`).
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import struct
from array import array
from pathlib import Path

from eddy.core.errors import BoardNotReady, ConfigurationFailed, ImageRefused
from eddy.core.units import format_bytes

MANAGER = Path("/sys/class/fpga_manager/fpga0")
FIRMWARE = Path("/lib/firmware")
PARTIAL_NAME = "eddy-partial.bin"
"""One file for every partial load: there is one configuration port, and nothing piles up."""
_PARTIAL_FLAG = "1"
_WRITE_STEP = "firmware"


class FpgaManager:
    """The configuration port as the kernel offers it.

    Args:
        manager: Its folder in sysfs.
        firmware: Where the kernel looks for files.
    """

    def __init__(self, manager: Path = MANAGER, firmware: Path = FIRMWARE) -> None:
        self._manager, self._firmware = manager, firmware

    def state(self) -> str:
        """What the kernel says of the fabric: `operating`, `unknown` after power-up, or where a load went wrong.

        Raises:
            ConfigurationFailed: There is no FPGA manager.
        """
        try:
            return (self._manager / "state").read_text(encoding="ascii").strip()
        except OSError as error:
            raise ConfigurationFailed(
                f"there is no FPGA manager at {self._manager} ({error.strerror}); boot a kernel with"
                " CONFIG_FPGA_MGR_ZYNQMP_FPGA",
                cause="fpga-manager",
            ) from error

    def claim(self) -> contextlib.ExitStack:
        """Be the only Eddy that loads through it, until what is returned is closed or the process ends.

        Raises:
            BoardNotReady: Another one is; `cause` is ``in-use``. The lock is on the kernel's own folder, which nobody
                can remove.
            ConfigurationFailed: There is no FPGA manager.
        """
        self.state()
        claim = contextlib.ExitStack()
        folder = os.open(self._manager, os.O_RDONLY | os.O_DIRECTORY)
        claim.callback(os.close, folder)
        try:
            fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            claim.close()
            raise BoardNotReady(
                f"another process of Eddy has this board; `fuser {self._manager}` shows it: stop it first",
                cause="in-use",
            ) from None
        return claim

    def load_partial(self, file: Path) -> None:
        """Load a partial `.bit`; the rest of the fabric goes on. Nothing says whether its CRC was right.

        Raises:
            ConfigurationFailed: The kernel refused it, or its folder of images takes none; says the errno.
            ImageRefused: It is no `.bit` file.
        """
        binary = self._firmware / PARTIAL_NAME
        try:
            self._place(binary, to_binary(file.read_bytes()))
            self._write_attribute("flags", _PARTIAL_FLAG)
            self._write_attribute(_WRITE_STEP, PARTIAL_NAME)
        except OSError as error:
            raise ConfigurationFailed(
                f"the kernel refused the load: {_named(error)}, FPGA manager: {self.state()}; dmesg says more",
                cause="configuration-error",
                errno=error.errno,
            ) from error
        finally:
            with contextlib.suppress(OSError):  # what went wrong before says more
                binary.unlink(missing_ok=True)

    def _place(self, binary: Path, data: bytes) -> None:
        """Put the image where the kernel looks for it, as a file of its own whatever was left there."""
        try:
            binary.unlink(missing_ok=True)
            with binary.open("xb") as file:
                file.write(data)
        except OSError as error:
            full = error.errno in (errno.ENOSPC, errno.EDQUOT)
            hint = (
                f"make room for {format_bytes(len(data))} there" if full else "the kernel takes images from there alone"
            )
            raise ConfigurationFailed(
                f"{self._firmware} does not take the image: {_named(error)}; {hint}",
                cause="firmware-folder",
                errno=error.errno,
            ) from error

    def _write_attribute(self, attribute: str, text: str) -> None:
        # Not buffered: a buffered file writes again while it is closed after an error, which would be another load.
        with (self._manager / attribute).open("wb", buffering=0) as file:
            file.write(text.encode("ascii"))


def _named(error: OSError) -> str:
    number = error.errno or 0
    return f"{errno.errorcode.get(number, '?')} ({os.strerror(number)})"


def to_binary(data: bytes) -> bytes:
    """The payload of a `.bit` file as the FPGA manager takes it: without the header, each word's bytes reversed.

    Raises:
        ImageRefused: It is no `.bit` file, or cut short.
    """
    try:
        body = data[_payload_offset(data) :]
    except (struct.error, IndexError) as error:
        raise ImageRefused(f"not a .bit file: its header cannot be read ({error})", field="file") from error
    words = array("I", body)
    words.byteswap()
    return words.tobytes()


def _payload_offset(data: bytes) -> int:
    """Where the payload begins (Ref: the format as Vivado writes it, tags `a` to `e`)."""
    at: int = 2 + struct.unpack_from(">H", data, 0)[0] + 2
    while data[at : at + 1] != b"e":
        if data[at : at + 1] not in (b"a", b"b", b"c", b"d"):
            raise ImageRefused("not a .bit file: its header has a field that no tool writes", field="file")
        (length,) = struct.unpack_from(">H", data, at + 1)
        at += 3 + length
    (promised,) = struct.unpack_from(">I", data, at + 1)
    at += 5
    if len(data) - at != promised or promised % 4:
        there = len(data) - at
        raise ImageRefused(
            f"the .bit file is cut short: {format_bytes(promised)} promised, {format_bytes(there)} there", field="file"
        )
    return at
