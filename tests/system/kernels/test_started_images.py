# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Images started in sessions, on the model and on RTL: every core once, within the session's memory, beside others."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from contract.gpu_harness import MODULES, GpuHarness
from cores_kit import engine_over, tenants
from eddy.core.sessions import SessionOptions
from eddy.gpu.programs.layout import REGION_BASE
from eddy.hypervisor.cores.market_loop import PriceSettings
from eddy.hypervisor.engine.engine import Engine
from eddy.hypervisor.sessions.launches import CODE_BYTES
from eddy.opencl.vortex.build import build_image
from eddy.packages.manifests import load_module_manifest
from eddy.store import Store
from session_kit import Guest, serve

MEMORY_BYTES = 1 << 20
CORES, LANES = 5, 4
SOURCE = """
#include <vx_spawn.h>
static void body(void *out) { ((uint32_t *)out)[blockIdx.x] += 1 + (uint32_t)vx_core_id() * 100; }
int main() {
    uint32_t *asked = (uint32_t *)csr_read(VX_CSR_MSCRATCH);
    for (uint32_t k = 1; k < asked[2]; k++) *(volatile uint32_t *)0x70000000 = k;
    return vx_spawn_threads(1, asked, 0, body, (void *)asked[1]);
}
"""
ARGUMENTS, RECORD, STATES, PRINTED, STACKS, OUT = 0, 0x100, 0x400, 0x1000, 0x20000, 0x60000
"""Offsets in the second buffer."""


def begin(guest: Guest, engine: Engine, image: bytes, count: int, wild: int = 0) -> int:
    """A session with the image at its place, and what it is told behind it; answers where that begins."""
    guest.open(engine)
    size = -(-(struct.unpack_from("<Q", image, 8)[0] - REGION_BASE - CODE_BYTES) // 128) * 128
    guest.say(do="create", buffer=1, bytes=size, at=CODE_BYTES)
    guest.say(do="create", buffer=2, bytes=OUT + 4 * count, at=CODE_BYTES + size)
    base: int = REGION_BASE + CODE_BYTES + size
    guest.say(image[16:], do="write", buffer=1, offset=0, bytes=len(image) - 16)
    guest.say(do="fill", buffer=2, offset=0, bytes=OUT + 4 * count, pattern="AAAAAA==")
    told = struct.pack("<3I", count, base + OUT, 1 + wild)
    guest.say(told, do="write", buffer=2, offset=ARGUMENTS, bytes=len(told))
    record = struct.pack("<5I", base + ARGUMENTS, base + STATES, base + STACKS, 4096, base + PRINTED)
    guest.say(record, do="write", buffer=2, offset=RECORD, bytes=len(record))
    return base


def start(guest: Guest, module: str, cores: int = CORES, **more: Any) -> int:
    asked: dict[str, Any] = {"buffer": 1, "offset": 0, "argument": {"buffer": 2, "offset": RECORD}, **more}
    return guest.say(do="start", module=module, cores=cores, **asked)


@pytest.mark.rtl
@pytest.mark.xdist_group("board-rtl")
def test_images_of_two_tenants_run_on_rtl_and_reach_nothing_of_each_other(gpu: GpuHarness, tmp_path: Path) -> None:
    (tmp_path / "image.c").write_text(SOURCE)
    image = build_image([tmp_path / "image.c"], fpu=False)
    store, module = Store(":memory:"), load_module_manifest(MODULES / "gpu_2c2w2tx")
    tenants(store, ada=1, grace=1)
    engine = engine_over(
        gpu.board, store, {module.module: module}, "market", PriceSettings(quantum_s=2e-4, epoch_s=2e-3)
    )
    engine.start()
    ada, grace = (Guest(tenant, SessionOptions(MEMORY_BYTES)) for tenant in ("ada", "grace"))
    count = 23
    begin(ada, engine, image, count)
    begin(grace, engine, image, count, wild=1)
    good, bad = start(ada, module.module), start(grace, module.module)
    again = start(ada, module.module)
    wrong = [
        start(ada, "gpu_9c9w9t"),
        start(ada, module.module, offset=2),
        start(ada, module.module, offset=1 << 29),
        start(ada, module.module, argument={"buffer": 2, "offset": 1 << 29}),
        start(ada, module.module, argument={"buffer": 7}),
        start(ada, module.module, cores=0),
        ada.say(do="create", buffer=3, bytes=128, at=CODE_BYTES),
        ada.say(do="create", buffer=4, bytes=128, at=0),
        ada.say(do="create", buffer=5, bytes=128, at=MEMORY_BYTES - 64),
    ]
    for guest in (ada, grace):
        guest.say(do="read", buffer=2, offset=OUT, bytes=4 * count)
    serve(engine, ada, grace)
    codes = [ada.results[each].code for each in wrong]
    assert codes == [
        *("not-found", "invalid-request", "invalid-request", "invalid-request", "not-found", "invalid-request"),
        *("memory-exhausted", "memory-exhausted", "invalid-request"),
    ]
    assert (ada.results[good].code, ada.results[again].code) == ("", "")
    assert grace.results[bad].code == "write-outside-window"
    blocks = np.array_split(np.arange(count), CORES)  # the first cores have one more
    expected = np.concatenate([[1 + 100 * core] * len(each) for core, each in enumerate(blocks)])
    assert [*np.frombuffer(ada.results[len(ada.sent)].data, "<u4")] == [*(2 * expected)]
    assert not any(grace.results[len(grace.sent)].data)
