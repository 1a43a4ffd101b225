# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Byte offsets in a cluster's control window, from the generated map (`hw/regs/gpu_cluster.rdl`).

Those of a core are relative to its bank, which begins at `CORE + core * CORE_STRIDE`.
"""

from __future__ import annotations

from eddy_drivers.regs import gpu_cluster as m

INTERRUPT_STATUS, INTERRUPT_ENABLE = m.INTERRUPT_STATUS.offset, m.INTERRUPT_ENABLE.offset
STATUS, CORES = m.STATUS.offset, m.CORES.offset
LAUNCH, HALT, SNAPSHOT = m.LAUNCH.offset, m.HALT.offset, m.SNAPSHOT.offset
KEEP_COUNTERS = 1 << m.LAUNCH_KEEP_COUNTERS.low
"""Of `LAUNCH`."""

CORE, CORE_STRIDE = m.CORE_START.offset, m.CORE_START.stride
CORE_START, CORE_ARGUMENT = m.CORE_START.offset - CORE, m.CORE_ARGUMENT.offset - CORE
CORE_CONTEXT, CORE_PLACE, CORE_BASE = (
    register.offset - CORE for register in (m.CORE_CONTEXT, m.CORE_PLACE, m.CORE_BASE0)
)
CORE_CAUSE, CORE_FAULT_PC, CORE_FAULT_VALUE = (
    register.offset - CORE for register in (m.CORE_CAUSE, m.CORE_FAULT_PC, m.CORE_FAULT_VALUE)
)

COUNTER, COUNTER_STRIDE = m.COUNTER_LO.offset, m.COUNTER_LO.stride
