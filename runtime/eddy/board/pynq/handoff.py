# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The hardware handoff (`.hwh`) beside a bitstream, from which PYNQ reads what a design has.

PYNQ's parsers end with whatever their first wrong step ends with: an IndexError for a design without a processor.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from xml.etree import ElementTree

from eddy.core.errors import EddyError, ImageRefused

PROCESSING_SYSTEMS = ("zynq_ultra_ps_e", "processing_system7")
"""Types of the module that is the chip's processor, by family."""


@contextmanager
def parse_handoff(path: Path, partial: bool = False) -> Iterator[None]:
    """Read a handoff with PYNQ within this: what is wrong with it is an error that says so.

    Args:
        path: The `.hwh`.
        partial: Whether it is a reconfigurable module's, which has no processing system.

    Raises:
        ImageRefused: It is not there, is no handoff, or lacks what PYNQ looks for.
    """
    try:
        root = ElementTree.parse(path).getroot()
    except OSError as error:
        raise _refused(path, f"cannot be read ({error.strerror})") from error
    except SyntaxError as error:  # what it ends with on what is no XML
        raise _refused(path, f"is no XML ({error})") from error
    if not partial and not any(module.get("MODTYPE") in PROCESSING_SYSTEMS for module in root.iter("MODULE")):
        raise _refused(path, "has no processing system: it is not of a whole block design of a Zynq")
    try:
        yield
    except (EddyError, OSError, RuntimeError):  # the board's, or what PYNQ says itself
        raise
    except Exception as error:
        raise _refused(path, f"lacks what PYNQ looks for ({type(error).__name__}: {error})") from error


def _refused(path: Path, what: str) -> ImageRefused:
    message = (
        f"{path} {what}; export it again (Vivado: write_hw_platform, or the block design's .hwh) and keep it beside"
    )
    return ImageRefused(f"{message} {path.stem}.bit", reason="damaged")
