# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""A board's constraint files: floorplan, and timing with one constraint for each crossing between clocks."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from board_flow.floorplan import Board

SHELL_CLOCK = "clk_pl_0"
SHELL_PIN = "u_zynqmp/u_ps/u_ps8/PLCLK[0]"
PORT_CLOCKS = 2
"""Cycles of the configuration port's clock in one of the shell's: its wizard doubles."""
PORT_CLOCK = "[get_clocks -of_objects [get_pins {u_zynqmp/u_port_clock/clk_out1}]]"
"""That clock, as a constraint names it."""
ENGINE = "u_zynqmp/u_shell/gen_engine.u_engine"
ENGINE_SYNCHRONISERS = {
    "u_reset/u_acknowledge": "u_reset/far_reset_q_reg",
    "u_reset/u_request": "u_reset/request_q_reg",
    "u_avail": "u_writer/u_port/lines_q_reg[*]",
    "u_prdone": "u_writer/u_port/lines_q_reg[*]",
    "u_prerror": "u_writer/u_port/lines_q_reg[*]",
}
"""Levels that cross in the configuration engine: the synchroniser, and where its level comes from."""
ENGINE_FIFOS = {"u_orders": False, "u_beats": False, "u_reports": True}
"""Words that cross there: the FIFO, and whether it is written at the port's clock."""
HEAD = (
    "# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0\n"
    "# Written by tools/board.py from hw/vivado/boards.yaml; edit that.\n"
)
SYNCHRONISERS = {
    "u_control_open": ("u_decoupler/ctrl_open_q_reg", True),
    "u_memory_open": ("u_decoupler/mem_open_q_reg", True),
    "u_irq": ("u_decoupler/irq_q_reg", True),
    "u_reset/u_acknowledge": ("u_reset/far_reset_q_reg", True),
    "u_reset/u_request": ("u_reset/request_q_reg", False),
    "u_slot_ctrl/u_clock/u_answer": ("u_slot_ctrl/u_clock/far_q_reg", True),
    "u_slot_ctrl/u_clock/u_ask": ("u_slot_ctrl/u_clock/ask_q_reg", False),
    "u_decoupler/u_ctrl_open": ("u_slot_ctrl/u_regs/control_open_control_q_reg", False),
    "u_decoupler/u_mem_open": ("u_slot_ctrl/u_regs/control_open_memory_q_reg", False),
    "u_decoupler/u_irq_open": ("u_slot_ctrl/u_regs/control_open_interrupt_q_reg", False),
}
"""Levels that cross in a slot's path: the synchroniser, where its level comes from, whether that is of its clock."""
FIFOS = {
    **{f"u_ctrl_cdc/u_{channel}": channel in ("b", "r") for channel in ("aw", "w", "b", "ar", "r")},
    **{f"u_mem_cdc/u_{channel}": channel not in ("b", "r") for channel in ("aw", "w", "b", "ar", "r")},
}
"""Words that cross: the FIFO, and whether it is written at the slot's clock."""


@dataclass(frozen=True)
class CrossingException:
    """A crossing that may take as long as it is given.

    Attributes:
        source: Cells, as `get_cells` takes them; or a pin, where nothing of ours gives it.
        sink: Cells; or a clock in brackets, for whatever takes it at that clock.
        ns: Most nanoseconds; 0: any time.
    """

    source: str
    sink: str
    ns: float

    def line(self) -> str:
        """As a constraint."""
        if not self.ns:
            return f"set_false_path -from [get_pins {{{self.source}}}] -to [get_cells {{{self.sink}}}]"
        to = self.sink if self.sink.startswith("[") else f"[get_cells {{{self.sink}}}]"
        return f"set_max_delay -datapath_only {self.ns:.3f} -from [get_cells {{{self.source}}}] -to {to}"


def slot_cell(index: int) -> str:
    """The cell of a slot."""
    return f"u_zynqmp/gen_slots[{index}].u_slot"


def slot_clock(index: int) -> str:
    """The clock of a slot, as a constraint names it."""
    return f"[get_clocks -of_objects [get_pins {{u_zynqmp/gen_slots[{index}].u_clock/clk_out1}}]]"


def vivado_name(name: str, register: bool = True) -> str:
    """The name that Vivado gives a cell of the netlist: blocks of a generate loop keep their dot."""
    path = re.sub(r"(gen_\w+(?:\[\d+\])?)\.", "\\1\0", name).replace(".", "/").replace("\0", ".")
    return f"{path}_reg" if register else path


def crossings(board: Board, shell_hz: float) -> Iterator[CrossingException]:
    """Every crossing of a board's fabric: a level or a Gray pointer within the shorter of the two periods."""
    yield CrossingException("u_zynqmp/u_ps/u_ps8/EMIOGPIOO[95]", "u_zynqmp/u_ps/u_sync_reset/sync_q_reg[0]", 0.0)
    yield from _engine_crossings(shell_hz)
    for slot in board.slots:
        path = f"u_zynqmp/u_shell/gen_slot[{slot.index}].u_path"
        ns = 1e9 / max(shell_hz, slot.clk_hz)
        for sink, (source, _) in SYNCHRONISERS.items():
            yield CrossingException(f"{path}/{source}", f"{path}/{sink}/sync_q_reg[0]", ns)
        for fifo, written_by_slot in FIFOS.items():
            reader = f"[get_clocks {SHELL_CLOCK}]" if written_by_slot else slot_clock(slot.index)
            yield from _fifo(f"{path}/{fifo}", reader, ns)


def _engine_crossings(shell_hz: float) -> Iterator[CrossingException]:
    """Between the configuration engine's two sides."""
    ns = 1e9 / (PORT_CLOCKS * shell_hz)
    for sink, source in ENGINE_SYNCHRONISERS.items():
        yield CrossingException(f"{ENGINE}/{source}", f"{ENGINE}/{sink}/sync_q_reg[0]", ns)
    for fifo, written_by_port in ENGINE_FIFOS.items():
        yield from _fifo(f"{ENGINE}/{fifo}", f"[get_clocks {SHELL_CLOCK}]" if written_by_port else PORT_CLOCK, ns)


def _fifo(path: str, reader: str, ns: float) -> Iterator[CrossingException]:
    """Its two pointers, and its words, which a clock reads."""
    for side in ("write", "read"):
        yield CrossingException(f"{path}/{side}_gray_q_reg[*]", f"{path}/{side}_gray_meta_q_reg[*]", ns)
    yield CrossingException(f"{path}/mem_q_reg*", reader, ns)


def timing_xdc(board: Board, shell_hz: float) -> str:
    """The timing constraints of a board."""
    lines = [
        f"create_clock -name {SHELL_CLOCK} -period {1e9 / shell_hz:.3f} [get_pins {{{SHELL_PIN}}}]",
        "# Clocks of slots and of the configuration port follow from the wizards. One line for each crossing.",
        *(crossing.line() for crossing in crossings(board, shell_hz)),
    ]
    return HEAD + "\n".join(lines) + "\n"


def floorplan_xdc(board: Board) -> str:
    """The floorplan: a region for each slot. What is not a slot's is the static part's."""
    lines = []
    for slot in board.slots:
        name = f"slot{slot.index}"
        lines += [
            f"set_property HD.RECONFIGURABLE true [get_cells {{{slot_cell(slot.index)}}}]",
            f"create_pblock {name}",
            f"add_cells_to_pblock [get_pblocks {name}] [get_cells {{{slot_cell(slot.index)}}}]",
            *(f"resize_pblock [get_pblocks {name}] -add {{{sites}}}" for box in slot.boxes for sites in box.sites),
            f"set_property SNAPPING_MODE ON [get_pblocks {name}]",
            f"set_property IS_SOFT FALSE [get_pblocks {name}]",
            f"set_property CONTAIN_ROUTING true [get_pblocks {name}]",
        ]
    return HEAD + "\n".join(lines) + "\n"
