# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The signals at the slot boundary and at the shell's outer ports, as one table.

The C structures, the adapters around Verilated models and the SystemVerilog wrapper of the shell are all made of this
table, so that a signal is named once in the simulated board. Directions are as the module (for the slot boundary) or
the outside world (for the shell) sees them: `down` signals go toward the module, `up` signals come from it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Signal:
    """One signal.

    Attributes:
        name: As the module's port is called, without a direction suffix.
        width: Bits; of memory's data, those of a port of 64 bits.
    """

    name: str
    width: int

    @property
    def c_type(self) -> str:
        """The C type Verilator gives a port of this width."""
        for bits in (8, 16, 32, 64):
            if self.width <= bits:
                return f"uint{bits}_t"
        raise ValueError(f"{self.name}: {self.width} bits do not fit a scalar")

    @property
    def range(self) -> str:
        """The packed range of the port, empty for a single bit."""
        if self.wide:
            return "[eddy_pkg::StrbWidth-1:0] " if self.name.endswith("strb") else "[eddy_pkg::DataWidth-1:0] "
        return f"[{self.width - 1}:0] " if self.width > 1 else ""

    @property
    def wide(self) -> bool:
        """Whether the port has twice as many bits where the memory ports have 128."""
        return self.name in ("m_axi_wdata", "m_axi_wstrb", "m_axi_rdata")


def _signals(prefix: str, text: str) -> tuple[Signal, ...]:
    pairs = (item.split(":") for item in text.split())
    return tuple(Signal(prefix + name, int(width)) for name, width in pairs)


_LITE_REQUEST = "aw{a} awprot:3 awvalid:1 wdata:32 wstrb:4 wvalid:1 bready:1 ar{a} arprot:3 arvalid:1 rready:1"
_LITE_ANSWER = "awready:1 wready:1 bresp:2 bvalid:1 arready:1 rdata:32 rresp:2 rvalid:1"
_AX = "id:{i} addr:40 len:8 size:3 burst:2 cache:4 prot:3 qos:4 user:{u} valid:1"


def upper_halves(signals: Sequence[Signal]) -> tuple[Signal, ...]:
    """What structures have beside these signals: of each that may be wide, the upper half."""
    return tuple(Signal(f"{signal.name}_hi", signal.width) for signal in signals if signal.wide)


def _lite_request(address_bits: int) -> str:
    return _LITE_REQUEST.replace("{a}", f"addr:{address_bits}")


def _full_request(id_bits: int, user_bits: int) -> str:
    ax = _AX.format(i=id_bits, u=user_bits).split()
    channels = " ".join([*("aw" + signal for signal in ax), *("ar" + signal for signal in ax)])
    return f"{channels} wdata:64 wstrb:8 wlast:1 wvalid:1 bready:1 rready:1"


def _full_answer(id_bits: int) -> str:
    ids = f"bid:{id_bits} rid:{id_bits}"
    return f"awready:1 wready:1 {ids} bresp:2 bvalid:1 arready:1 rdata:64 rresp:2 rlast:1 rvalid:1"


SLOT_DOWN = _signals("s_axil_", _lite_request(16)) + _signals("m_axi_", _full_answer(4))
"""Bus signals toward a module (its reset is apart)."""
SLOT_UP = _signals("s_axil_", _LITE_ANSWER) + _signals("m_axi_", _full_request(4, 4))
"""Bus signals from a module (its interrupt is apart)."""
CPU_DOWN = _signals("s_axil_", _lite_request(24))
"""The CPU's requests to the shell."""
CPU_UP = _signals("s_axil_", _LITE_ANSWER)
"""The shell's answers to the CPU."""
MEMORY_UP = _signals("m_axi_", _full_request(8, 8))
"""The shell's requests to memory."""
MEMORY_DOWN = _signals("m_axi_", _full_answer(8))
"""The memory's answers to the shell."""
CONFIGURATION = _signals("", "cfg_avail_i:1 cfg_prdone_i:1 cfg_prerror_i:1 icap_o_i:32")
"""The configuration port, toward the shell."""
ENGINE_UP = _signals("", "icap_csib_o:1 icap_rdwrb_o:1 icap_i_o:32 engine_busy_o:1")
"""The shell's engine, toward the configuration port, and whether it has a load under way."""

MAX_SLOTS = 10
"""Slots a shell may have."""
