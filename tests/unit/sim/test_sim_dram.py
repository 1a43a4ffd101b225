# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The memory model against its data sheet's arithmetic and against a small independent model."""

from __future__ import annotations

import math
import random
from dataclasses import replace

import numpy as np
import pytest
from eddy.board.port.profile import Dram, load_profile
from eddy.core.errors import InvalidRequest
from eddy_sim.boards.dram import Burst, ProbeResult, dram_parameters, probe

pytestmark = pytest.mark.rtl

DRAM = load_profile("tiny").dram
PERIOD_NS = 10.0


def run(
    bursts: list[Burst], dram: Dram = DRAM, clk_hz: float = 1e8, refi_ns: float = 0, rfc_ns: float = 0
) -> ProbeResult:
    memory = np.zeros(dram.bytes, dtype=np.uint8)
    return probe(dram_parameters(dram, refi_ns, rfc_ns), bursts, memory, clk_hz)


def test_streaming_fills_the_port() -> None:
    bursts = [Burst(i * 2048, 256) for i in range(64)]
    result = run(bursts)
    assert 64 * 256 <= result.cycles <= 64 * 256 * 1.01 + 20


def test_streaming_is_held_to_the_bandwidth_limit() -> None:
    slow = replace(DRAM, bytes_per_s=200_000_000)
    result = run([Burst(i * 2048, 256) for i in range(32)], slow)
    seconds = result.cycles * PERIOD_NS * 1e-9
    assert 32 * 2048 / seconds == pytest.approx(200e6, rel=0.01)


def test_random_rows_of_one_bank_get_the_row_cycle_rate() -> None:
    stride = DRAM.row_bytes * DRAM.banks
    count = 100
    # A clock fast enough that the port is not what limits.
    result = run([Burst(i * stride, 1, id=i % 16) for i in range(count)], clk_hz=1e9)
    burst_ns = 8 / DRAM.bytes_per_s * 1e9
    row_cycle_ns = max(DRAM.ras_ns, DRAM.rcd_ns + burst_ns) + DRAM.rp_ns
    assert result.cycles == pytest.approx(count * row_cycle_ns, rel=0.02)
    assert result.statistics.row_conflicts == count - 1


def test_random_rows_of_many_banks_overlap() -> None:
    bursts = [Burst(i * DRAM.row_bytes, 1, id=i % 16) for i in range(160)]
    result = run(bursts, clk_hz=1e9)
    burst_ns = 8 / DRAM.bytes_per_s * 1e9
    assert result.cycles < 160 * (DRAM.rcd_ns + DRAM.rp_ns)
    assert result.cycles >= 160 * burst_ns


def test_one_read_takes_activate_column_and_transfer() -> None:
    fast = 1e9
    result = run([Burst(0, 1)], clk_hz=fast)
    # Edges: asked after edge 1, seen at edge 2 and scheduled then; the answer is seen one edge after it is driven.
    expected = 2 + np.ceil(DRAM.rcd_ns + DRAM.cl_ns + 8 / DRAM.bytes_per_s * 1e9) + 1
    assert result.cycles == pytest.approx(expected, abs=2)


def independent_model(bursts: list[Burst], dram: Dram) -> list[float]:
    """Completion times in ns of reads that arrive together, all of different ids: greedy by earliest data.

    Written from the description in `cpp/dram.h`, not from its code: one dictionary of banks, floats, no AXI.
    """
    beat_ns = 8 / dram.bytes_per_s * 1e9
    banks: dict[int, tuple[int, float, float, float]] = {}
    bus, done = 0.0, [0.0] * len(bursts)
    left = list(range(len(bursts)))
    ahead = dram.rp_ns + dram.rcd_ns + dram.cl_ns
    now = 0.0
    while left:
        now = max(now, math.ceil(bus - ahead))  # a scheduler decides at its clock's edges, a nanosecond apart here
        plans = []
        for i in left:
            unit = (bursts[i].address - dram.base) // dram.row_bytes
            bank, row = unit % dram.banks, unit // dram.banks
            state = banks.get(bank)
            if state is None:
                activated = now
                column = now + dram.rcd_ns
            elif state[0] == row:
                activated = state[1]
                column = max(now, state[2])
            else:
                activated = max(now, state[1] + dram.ras_ns, state[3]) + dram.rp_ns
                column = activated + dram.rcd_ns
            miss = state is None or state[0] != row
            plans.append((max(column + dram.cl_ns, bus), miss, i, bank, row, activated, column))
        data, _, i, bank, row, activated, column = min(plans)
        bus = data + bursts[i].beats * beat_ns
        banks[bank] = (row, activated, column, bus - dram.cl_ns)
        done[i] = bus
        left.remove(i)
    return done


def test_order_of_service_agrees_with_an_independent_model() -> None:
    rng = random.Random(3)
    for _ in range(20):
        # Ids differ and the queue holds them all; 12 bursts are fewer than the starvation bound.
        pages = [rng.randrange(DRAM.bytes // 4096) for _ in range(12)]
        bursts = [Burst(page * 4096, rng.choice((1, 4, 16)), id=i) for i, page in enumerate(pages)]
        # All are in the queue when the first is scheduled: a burst that keeps the bus busy comes first.
        lead = Burst(0, 256, id=15)
        dram = replace(DRAM, bytes_per_s=100_000_000)
        result = run([lead, *bursts], dram, clk_hz=1e9)
        expected = independent_model([lead, *bursts], dram)
        assert np.argsort(result.done).tolist() == np.argsort(expected).tolist()
        difference = np.array(result.done[1:]) - np.array(expected[1:])
        assert np.ptp(difference) <= 300 / 8, "a constant offset of pipeline and port, and rounding to edges"


def test_row_hits_overtake_but_nobody_starves() -> None:
    stride = DRAM.row_bytes * DRAM.banks
    hits = [Burst(64 * i, 4, id=1 + i % 14) for i in range(200)]
    # One burst for another row of the same bank, among a stream of hits.
    bursts = [*hits[:8], Burst(stride, 1, id=15), *hits[8:]]
    dram = replace(DRAM, bytes_per_s=100_000_000)
    result = run(bursts, dram)
    assert 8 < result.place[8] <= 8 + 16 + 1
    assert result.statistics.longest_bypass <= 16


def test_bursts_of_one_id_are_answered_in_order() -> None:
    rng = random.Random(5)
    bursts = [Burst(rng.randrange(2048) * 4096, 4, id=i % 3) for i in range(90)]
    result = run(bursts)
    for id_ in range(3):
        places = [result.place[i] for i in range(id_, 90, 3)]
        assert places == sorted(places)


def test_reads_and_writes_share_the_bus() -> None:
    dram = replace(DRAM, bytes_per_s=800_000_000)
    reads = [Burst(i * 2048, 256, id=0) for i in range(16)]
    writes = [Burst(0x80_0000 + i * 2048, 256, id=1, write=True) for i in range(16)]
    both = run([*reads, *writes], dram).cycles
    assert both == pytest.approx(32 * 256, rel=0.05), "the port could do twice as much; the bus cannot"


def test_written_data_lands_where_it_should() -> None:
    memory = np.zeros(DRAM.bytes, dtype=np.uint8)
    bursts = [Burst(DRAM.base + 4096 * i, 4, id=i % 4, write=True) for i in range(8)]
    probe(dram_parameters(DRAM), bursts, memory)
    words = memory.view(np.uint64)
    for i in range(8):
        assert words[512 * i : 512 * i + 5].tolist() == [i, i, i, i, 0]


def test_an_address_outside_is_answered_and_touches_nothing() -> None:
    result = run([Burst(DRAM.base + DRAM.bytes, 4), Burst(DRAM.base, 4, id=1)])
    assert result.statistics.refused == 1
    assert result.statistics.read_bytes == 32


def test_refresh_closes_rows_and_costs_its_share() -> None:
    bursts = [Burst((i * 64) % 4096, 8) for i in range(2000)]
    without = run(bursts, clk_hz=1e9)
    with_refresh = run(bursts, clk_hz=1e9, refi_ns=3900, rfc_ns=350)
    # In each interval the bus stands still for rfc and an activation.
    assert with_refresh.cycles / without.cycles == pytest.approx(3900 / (3900 - 350), rel=0.03)
    assert with_refresh.statistics.row_misses > without.statistics.row_misses


def test_the_same_bursts_take_the_same_cycles() -> None:
    rng = random.Random(7)
    bursts = [Burst(rng.randrange(2048) * 4096, 16, id=i % 5, write=bool(i % 3 == 0)) for i in range(300)]
    first, second = run(bursts), run(bursts)
    assert (first.cycles, first.done, first.place) == (second.cycles, second.done, second.place)


def test_rows_shorter_than_a_burst_are_refused() -> None:
    with pytest.raises(InvalidRequest, match="power of two"):
        dram_parameters(replace(DRAM, row_bytes=2048))
