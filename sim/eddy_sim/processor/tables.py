# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What a PYNQ device knows of the design on it, kept in step with partial downloads.

PYNQ's own bookkeeping for partial designs stops short of x86 and of interrupts: it takes parsers of one class only,
mixes up regions whose names begin alike, and leaves a region's interrupt pins under their old names.
"""

from __future__ import annotations

import errno
from pathlib import Path
from typing import Any

from eddy.board.port.profile import Profile
from eddy.board.pynq.handoff import parse_handoff
from pynq.devicetree import get_dtbo_base_name
from pynq.pl_server.device import Device
from pynq.pl_server.hwh_parser import _HWHUltrascale
from pynqmetadata.frontends import Metadata  # type: ignore[import-untyped]
from pynqmetadata.views.runtime import RuntimeMetadataParser  # type: ignore[import-untyped]

from eddy_sim.boards.loader import LoadRefused
from eddy_sim.design.addressmap import module_base


class OverlayTables(Device):  # type: ignore[misc]
    """The tables of a device.

    Args:
        tag: Identifies the device among PYNQ's.
        profile: What the board is.
    """

    ip_dict: dict[str, Any]
    interrupt_pins: dict[str, Any]

    def __init__(self, tag: str, profile: Profile) -> None:
        super().__init__(tag)
        self.profile = profile
        self.devicetree_dict: dict[str, str] = {}

    def memory_description(self) -> dict[str, Any]:
        """The memory that buffers are allocated from, as an overlay's `mem_dict` names it."""
        raise NotImplementedError

    def get_bitfile_metadata(self, bitfile_name: str, partial: bool = False) -> Any:
        """Parse the `.hwh` beside a bitstream with PYNQ's own parsers.

        Raises:
            RuntimeError: There is none, as on a board.
            ImageRefused: It is damaged, or not a whole design's.
        """
        path = Path(bitfile_name).with_suffix(".hwh")
        if not path.is_file():
            raise RuntimeError(f"Unable to find metadata for bitstream: {path} does not exist")
        with parse_handoff(path, partial):
            if partial:
                return _HWHUltrascale(hwh_name=str(path))
            parser = RuntimeMetadataParser(Metadata(input=str(path)))
            parser.mem_dict["PSDDR"] = self.memory_description()
            parser.refresh_hierarchy_dict()
            return parser

    def gen_cache(self, bitstream: Any, parser: Any = None) -> None:
        """Nothing: no state is kept between processes."""

    def shutdown(self) -> None:
        """Nothing: there are no shutdown managers in the static region; the firewalls do their work."""

    # Device trees: there is no operating system to hand them to, so they are only listed.

    def insert_device_tree(self, abs_dtbo: str) -> None:
        """List a device tree segment.

        Raises:
            OSError: There is no such file.
        """
        if not Path(abs_dtbo).is_file():
            raise OSError(errno.ENOENT, f"The dtbo file {abs_dtbo} does not exist.")
        self.devicetree_dict[get_dtbo_base_name(abs_dtbo)] = abs_dtbo

    def remove_device_tree(self, abs_dtbo: str | None) -> None:
        """Take a segment off the list; PYNQ asks for this also where there was none."""
        if abs_dtbo is not None:
            self.devicetree_dict.pop(get_dtbo_base_name(abs_dtbo), None)

    def clear_devicetree(self) -> None:
        """Empty the list."""
        self.devicetree_dict.clear()

    # What the partial design changes in the device's tables

    def update_partial_region(self, hier: str, parser: Any) -> None:
        """Replace a region's cores by those of the partial design that was loaded into it.

        Raises:
            LoadRefused: Its metadata names cores of another region. Where the file was loaded, that one holds it now: a
                partial bitstream goes where it was built for, whatever region it is loaded for.
        """
        regions = {module_base(slot.index): slot.region for slot in self.profile.slots}
        meant = {regions.get(details["phys_addr"], "no slot") for details in parser.ip_dict.values()}
        if meant - {hier}:
            raise LoadRefused(
                errno.EINVAL,
                f"the partial bitstream was built for {', '.join(sorted(meant))}, not for {hier}; load the file of"
                f" {hier}, and load {', '.join(sorted(meant))} again if that was open",
            )
        super().update_partial_region(hier, parser)

    def _update_pr_ip(self, parser: Any, hier: str) -> None:
        # Entries are told, not changed: an overlay takes copies of its own.
        kept = {name: dict(ip) for name, ip in self.ip_dict.items() if not name.startswith(hier + "/")}
        self.ip_dict = {**kept, **{ip["fullpath"]: ip for ip in parser.ip_dict.values()}}

    def _update_pr_intr_pins(self, parser: Any) -> None:
        """The region's pin leads to the same input as before, under its new core's name."""
        cores = {name.partition("/")[0]: name for name in parser.ip_dict}
        pins = {}
        for name, pin in self.interrupt_pins.items():
            hier, inside, _ = name.partition("/")
            if inside and hier in cores:
                name = f"{cores[hier]}/{name.rpartition('/')[2]}"
            pins[name] = {**pin, "fullpath": name}
        self._interrupt_pins = self.interrupt_pins = pins
