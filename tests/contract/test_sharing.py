# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What tenants' kernels did, by account, read while they run: on every board."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from pathlib import Path

import pytest
from contract.gpu_harness import CLUSTER, GpuHarness, opened
from contract.kernels import MODULE, kernel
from eddy.board.port.port import Buffer, EventKind
from eddy.core.counters import ContextCounters, SharingCounters
from eddy.core.errors import NotFound

RTL = [pytest.mark.rtl, pytest.mark.xdist_group("board-rtl")]


@pytest.fixture(params=["fake", "model", pytest.param("rtl", marks=RTL), pytest.param("socket-rtl", marks=RTL)])
def gpu(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[GpuHarness]:
    with opened(request.param, tmp_path, monkeypatch) as harness:
        yield harness


def start(gpu: GpuHarness, account: str, program: str, cores: tuple[int, ...]) -> Buffer:
    region = gpu.region(program, owner=account or "nobody")
    launch = kernel(region, item=f"{account} {program} {gpu.board.now_s()}", cores=cores)
    gpu.board.launch(CLUSTER, dataclasses.replace(launch, account=account))
    return region


def done(gpu: GpuHarness) -> None:
    assert gpu.next_event().kind is EventKind.ITEM_DONE


def never_fell(before: SharingCounters, after: SharingCounters) -> None:
    for account, totals in before.accounts:
        grown = dataclasses.asdict(after.of(account).subtract_counters(totals))
        assert all(each >= 0 for each in grown.values()), (account, grown)


def test_nobody_is_counted_where_no_account_was_named(gpu: GpuHarness) -> None:
    start(gpu, "", "mark", (0, 1))
    done(gpu)
    assert gpu.board.sharing(CLUSTER).accounts == ()
    assert gpu.board.sharing(CLUSTER).of("ada") == ContextCounters()
    with pytest.raises(NotFound):
        gpu.board.sharing(9)


def test_two_accounts_share_a_cluster_and_are_read_while_they_run(gpu: GpuHarness) -> None:
    start(gpu, "ada", "count", (0,))
    start(gpu, "grace", "mark", (1,))
    done(gpu)
    under_way = gpu.board.sharing(CLUSTER)
    assert under_way.clk_hz in (75e6, 100e6)
    assert [account for account, _ in under_way.accounts] == ["ada", "grace"]
    assert under_way.of("ada").core_cycles > 0, "it runs still"
    done(gpu)
    after = gpu.board.sharing(CLUSTER)
    never_fell(under_way, after)
    ada, grace = after.of("ada"), after.of("grace")
    assert ada.core_cycles > 0 < grace.core_cycles
    assert after.cycles >= under_way.cycles
    if gpu.executes:
        assert ada.instructions >= grace.instructions > 0


def test_a_context_that_changes_hands_is_counted_for_whom_it_was(gpu: GpuHarness) -> None:
    for account in ("ada", "ada", "grace", "", "ada"):
        start(gpu, account, "mark", (1,))
        done(gpu)
    totals = gpu.board.sharing(CLUSTER)
    ada, grace = totals.of("ada"), totals.of("grace")
    assert dict(totals.accounts).keys() == {"ada", "grace"}
    if gpu.executes:
        assert ada.instructions == 3 * grace.instructions
        assert ada.core_cycles > grace.core_cycles > 0


def test_totals_outlive_a_load(gpu: GpuHarness) -> None:
    start(gpu, "ada", "mark", (0, 1))
    done(gpu)
    before = gpu.board.sharing(CLUSTER)
    assert gpu.load(CLUSTER, MODULE).kind is EventKind.CONFIGURED
    between = gpu.board.sharing(CLUSTER)
    assert between.accounts == before.accounts
    start(gpu, "ada", "mark", (0, 1))
    done(gpu)
    after = gpu.board.sharing(CLUSTER)
    never_fell(between, after)
    assert after.of("ada").core_cycles > before.of("ada").core_cycles


@pytest.mark.rtl
@pytest.mark.xdist_group("board-rtl")
def test_what_contexts_ask_of_memory_is_counted_to_the_byte(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with opened("rtl", tmp_path, monkeypatch) as gpu:
        start(gpu, "ada", "flood", (0,))
        start(gpu, "grace", "mark", (1,))
        done(gpu)
        gpu.board.wait(gpu.board.now_s() + 1e-4)
        gpu.board.stop(CLUSTER)
        assert gpu.next_event().kind is EventKind.ITEM_FAILED
        ada, grace = (gpu.board.sharing(CLUSTER).of(name) for name in ("ada", "grace"))
        whole = gpu.board.counters(CLUSTER)
        assert ada.requests + grace.requests == whole.read_requests + whole.write_requests
        assert ada.bytes + grace.bytes == whole.read_bytes + whole.write_bytes
        assert 0 < ada.row_hits < ada.requests
        assert ada.bytes > 3 * grace.bytes > 0
        # The cluster has a second-level cache: what it did not find there was read from memory.
        assert ada.cache_misses + grace.cache_misses == whole.read_requests
        assert ada.cache_hits >= 0 <= grace.cache_hits
