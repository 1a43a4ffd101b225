"""Settings of the state machine for modules that stay resident in slots; studies vary them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Residency:
    """How a machine treats modules that were left in slots; the defaults are those of the live hypervisor.

    Attributes:
        reuse: Whether a module stays trusted in a slot that was given back; else every task that is given a slot is
            loaded, as the text of [004] has it (2.1.2).
        read_ahead: Whether images that jobs will want are brought into the board's memory while its storage is idle, as
            far as there is room; else only the one of the next load is.
        fuse: Whether a job's tasks are run on modules that cover several of them, where it ends earlier so.
        beside_loads: Whether a task that needs no load may be given its slot while another one is loaded; else
            configurations in a trace never overlap.
    """

    reuse: bool = True
    beside_loads: bool = True
    read_ahead: bool = True
    fuse: bool = True


LIVE = Residency()
