# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The simulated board of `eddy demo --slowdown`: one cluster of six small cores, and a memory that it can fill.

On the other profiles six small cores do not ask for what a DDR4 channel gives. Here a line takes the memory's bus
600 ns, so that two cores that do nothing but read can fill it. Row operations take as many cycles as in [001] Table 1,
of 20 ns: they hide behind the bus, and hit rates matter little here. Where they matter, `eddy reproduce hsm` looks.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from eddy_sim.design import bitstreams, build
from eddy_sim.design.models import build_models
from eddy_sim.device import SimClock, SimDevice

from eddy.board.images.signing import Trust
from eddy.board.port.port import BoardPort
from eddy.board.port.profile import Profile, load_profile
from eddy.board.remote.factory import open_device
from eddy.core.slots import Pool
from eddy.packages.manifests import load_module_manifest

MODULES = build.ROOT / "bitstreams" / "slowdown"
MODULE = "gpu_6c2w2tx"
BUS_CYCLE_NS = 20.0
BYTES_PER_S = 64 / (30 * BUS_CYCLE_NS) * 1e9
"""What the memory's data bus moves: a line of 64 bytes in thirty cycles."""


def slow_memory() -> Profile:
    """A board of one slot, whose memory one cluster can fill."""
    tiny = load_profile("tiny")
    slot = replace(tiny.slots[0], pool=Pool.GPU)
    rcd = rp = cl = 7 * BUS_CYCLE_NS
    dram = replace(tiny.dram, rcd_ns=rcd, rp_ns=rp, cl_ns=cl, ras_ns=17 * BUS_CYCLE_NS, bytes_per_s=BYTES_PER_S)
    return replace(tiny, name="slowdown", slots=(slot,), dram=dram)


def open_slow_memory(progress: Callable[[str], None]) -> BoardPort:
    """Build what is missing and open the board.

    Args:
        progress: Told what is being built.
    """
    profile = slow_memory()
    files = bitstreams.list_or_build(profile, found=[load_module_manifest(MODULES / MODULE)])
    build_models(profile, progress, ())
    progress(f"simulation model of {MODULE}")
    build.build_module(MODULE)
    device = SimDevice(profile)
    trust = Trust.load(False, None)
    return open_device(files.overlay, device, SimClock(device), profile, files.overlay.parent, trust)
