# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The builds of the boundary's bench top, one for each block."""

from __future__ import annotations

from pathlib import Path

from eddy_sim.design.bench import Bench

FOLDER = Path(__file__).parent
BLOCKS = ("axi_skid", "axi_cdc", "decoupler", "firewall", "path")


def bench(block: str, memory_bits: int = 64) -> Bench:
    """The bench top around one block, or around the whole path, with ports to memory of so many bits."""
    defines = {} if memory_bits == 64 else {"EDDY_MEMORY_BITS": str(memory_bits)}
    return Bench("boundary_tb", FOLDER / "boundary.f", parameters={"Block": BLOCKS.index(block)}, defines=defines)
