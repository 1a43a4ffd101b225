# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Clusters that are drained while kernels run on them, core by core: what runs ends, the rest goes on elsewhere."""

from __future__ import annotations

import pytest
from cores_kit import CoresBoard, engine_over, manifest, tenants
from eddy.board.port.port import Launch
from eddy.hypervisor.cores.market_loop import PriceSettings
from eddy.hypervisor.engine.engine import Engine
from eddy.store import Store
from system.kernels.test_shared_cores_faults import check_step, step_request

FOUR, TWO = manifest(4), manifest(2)
ONE_SLICE = PriceSettings(quantum_s=1e-4)
"""Slices of one wave each: kernels are in the middle for long."""


class WatchedBoard(CoresBoard):
    """Notes where slices start."""

    def launch(self, slot: int, launch: Launch) -> None:
        self.launched = [*getattr(self, "launched", []), slot]
        super().launch(slot, launch)


def begun(board: WatchedBoard, store: Store, modules: dict[str, object]) -> Engine:
    tenants(store, a=1, b=2)
    engine = engine_over(board, store, modules, settings=ONE_SLICE)  # type: ignore[arg-type]
    engine.start()
    for salt, tenant in enumerate("abab", start=1):
        engine.intake.accept(step_request(store, tenant, salt))
    while not {1, 2} <= set(getattr(board, "launched", [])):
        engine.step()
    return engine


def to_rest(engine: Engine) -> None:
    for _ in range(5000):
        if engine.is_idle:
            return
        engine.step()
    pytest.fail("it does not come to rest")


@pytest.mark.parametrize("modules", [[FOUR], [FOUR, TWO]], ids=["alike", "different"])
def test_kernels_leave_a_cluster_that_is_drained_and_are_right(modules: list[object]) -> None:
    known = {each.module: each for each in modules}  # type: ignore[attr-defined]
    store, board = Store(":memory:"), WatchedBoard(known, slots=2)  # type: ignore[arg-type]
    engine = begun(board, store, known)
    drained = board.launched[-1]
    engine.intake.drain(drained, "x")
    engine.step(0.0)
    before = len(board.launched)
    to_rest(engine)
    assert drained not in board.launched[before:]
    for salt, tenant in enumerate("abab", start=1):
        check_step(store, tenant, salt, salt)
    epoch, _ = engine.price.snapshot_epochs() if engine.price is not None else (None, ())
    assert epoch is None or drained not in [cluster.slot for cluster in epoch.view.present.clusters]
    assert board.state().buffers == ()


def test_with_every_cluster_drained_kernels_wait_and_go_on_from_where_they_were() -> None:
    store, board = Store(":memory:"), WatchedBoard({FOUR.module: FOUR}, slots=2)
    engine = begun(board, store, {FOUR.module: FOUR})
    for slot in (1, 2):
        engine.intake.drain(slot, "x")
    to_rest(engine)
    assert engine.stalled
    history = len(engine.price.history.list_epochs()) if engine.price is not None else 0
    before = len(board.launched)
    engine.intake.drain(2, "")
    to_rest(engine)
    assert set(board.launched[before:]) == {2}
    for salt, tenant in enumerate("abab", start=1):
        check_step(store, tenant, salt, salt)
    assert history < 1000, "epochs went by while nobody had a cluster"
    assert not [e.detail for n in range(1, 5) for e in store.events.list_events(None, n) if "begins again" in e.detail]
