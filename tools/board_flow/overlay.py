# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""A board's device-tree overlay: the fabric's window and interrupt as one UIO device, and its clock held on."""

from __future__ import annotations

from eddy_sim.design.addressmap import PL_BASE, PL_BYTES

SPI = 89
"""pl_ps_irq0 among the shared peripheral interrupts of the processor (UG1085, "System Interrupts": 121, less 32)."""
PL0_CLOCK = 71
"""PL clock 0 among the processing system's (Linux, include/dt-bindings/clock/xlnx-zynqmp-clk.h)."""
SOURCE = """// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
// Written by tools/board.py from hw/regs/top/window.rdl; edit that.
/dts-v1/;
/plugin/;

&amba {{
	#address-cells = <2>;
	#size-cells = <2>;

	/* The shell's window, and its interrupt: /sys/class/uio/uio<n>/name says "fabric". */
	fabric@{base:x} {{
		compatible = "generic-uio";
		reg = <0x0 0x{base:x} 0x0 0x{size:x}>;
		interrupt-parent = <&gic>;
		interrupts = <0 {spi} 4>;
	}};

	/* Nothing in Linux uses PL clock 0, which would then be turned off. */
	fclk0: fclk0 {{
		compatible = "xlnx,fclk";
		clocks = <&zynqmp_clk {clock}>;
	}};
}};
"""


def overlay_source() -> str:
    """The overlay's source; it is the same for every board."""
    return SOURCE.format(base=PL_BASE, size=PL_BYTES, spi=SPI, clock=PL0_CLOCK)
