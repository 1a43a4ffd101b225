# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Cores shared between tenants on the simulated board: are promises kept, and what does clearing save beside loading?

Everything is in board time of the RTL, so the load of this machine does not matter.

- *shares*: three tenants of weights 1, 4, 1 on a cluster of two cores, kernels of unequal length, for 50 ms of board
  time: what each had of all that was had, over what the market promised it;
- *hands*: two tenants' short kernels in turns on one core of the kv260's cluster: kernels a second where the start of a
  kernel clears the core, where the cluster is reset in between, and where it is loaded again.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path
from typing import Any

from benches import ROOT, tell

sys.path[:0] = [str(ROOT / "tests"), str(ROOT)]

from contract.gpu_harness import CLUSTER, MODULES, manifest_path, rtl  # noqa: E402
from contract.kernels import REGION_BYTES, code, kernel  # noqa: E402
from cores_kit import add_request, engine_over, tenants  # noqa: E402
from eddy.board.port.port import EventKind  # noqa: E402
from eddy.board.remote.factory import open_board  # noqa: E402
from eddy.hypervisor.cores.market_loop import PriceSettings  # noqa: E402
from eddy.packages.manifests import load_module_manifest  # noqa: E402
from eddy.store import Store  # noqa: E402
from eddy_sim.design import build  # noqa: E402

WEIGHTS = {"a": 1.0, "b": 4.0, "c": 1.0}
GROUPS = {"a": 2400, "b": 9600, "c": 4800}
"""Work-groups of each tenant's kernels: 1 to 4 ms on one core."""
WINDOW_S, WARM_S = 50e-3, 4e-3
QUANTUM_S = 0.2e-3
TURNS = 8


def shares() -> dict[str, dict[str, float]]:
    """Run three tenants for the window; what each was promised and had, as parts of the whole."""
    harness = rtl(Path(tempfile.mkdtemp()))
    module = load_module_manifest(MODULES / "gpu_2c2w2tx")
    store = Store(":memory:")
    tenants(store, **WEIGHTS)
    settings = PriceSettings(QUANTUM_S, epoch_s=5e-3)
    engine = engine_over(harness.board, store, {module.module: module}, "market", settings)
    engine.start()
    assert engine.price is not None

    def top_up() -> None:
        waiting = [job.spec.tenant for job in engine.machine.jobs.values()]
        for name, groups in GROUPS.items():
            for _ in range(2 - waiting.count(name)):
                engine.intake.accept(add_request(store, name, 2 * groups, f"add_{name}"))

    def until(at_s: float) -> dict[str, float]:
        while engine.now_s < at_s:
            if len(engine.machine.jobs) < 2 * len(GROUPS):
                top_up()
            engine.step()
        return dict(engine.price.accounts[CLUSTER].delivered_s) if engine.price else {}

    until(engine.now_s + WARM_S)
    before = until(engine.now_s + WARM_S)
    after = until(engine.now_s + WINDOW_S)
    promised = engine.price.accounts[CLUSTER].shares
    had = {name: after[name] - before.get(name, 0.0) for name in WEIGHTS}
    harness.inner.close()
    whole, all_promised = sum(had.values()), sum(promised.values())
    return {n: {"promised": promised[n] / all_promised, "had": had[n] / whole} for n in WEIGHTS}


def hands() -> dict[str, float]:
    """Kernels a second of board time, two tenants in turns on one core, by what happens in between."""
    board = open_board("rtl", "kv260", progress=tell)
    found = next(image for image in board.images() if image.module == "gpu_1c4w4t")
    slot, image = found.slot, found.sha256
    regions = [board.allocate(REGION_BYTES, name) for name in ("ada", "grace")]
    for region in regions:
        board.write(region.id, 0, code("count"))

    def wait(kind: EventKind) -> None:
        (event,) = board.wait(board.now_s() + 1.0)
        if event.kind is not kind:
            raise SystemExit(f"{kind.value} was expected: {event}")
        board.wait(0.0, event.seq)

    def rate(between: str) -> float:
        began_s = board.now_s()
        for turn in range(TURNS):
            if between == "load":
                board.load(slot, image)
            elif between == "reset":
                board.scrub(slot)
            if between != "clear":
                wait(EventKind.CONFIGURED)
            board.launch(slot, kernel(regions[turn % 2], item=f"{between} {turn}", cores=(0,)))
            wait(EventKind.ITEM_DONE)
        return TURNS / (board.now_s() - began_s)

    board.load(slot, image)
    wait(EventKind.CONFIGURED)
    rates = {between: rate(between) for between in ("clear", "reset", "load")}
    board.release()
    return rates


LEAST = {"clearing over loading": 10.0}
MOST = {"off by": 0.02}
"""Goals: kernels of two tenants in turns; part of its promise by which a tenant's cores may be off."""


def bench(options: argparse.Namespace) -> dict[str, Any]:
    """Rates of handing a core over, and what tenants had of what they were promised."""
    build.manifest_path = manifest_path(build.manifest_path)  # type: ignore[assignment]
    rates, found = hands(), shares()
    off = {name: {**share, "off by": abs(share["had"] / share["promised"] - 1)} for name, share in found.items()}
    return {"kernels/s": rates, "clearing over loading": rates["clear"] / rates["load"], "tenant": off}
