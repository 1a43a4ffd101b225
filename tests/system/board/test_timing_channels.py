# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Timing channels between tenants are there, as docs/explanations/isolation.md says; a few bits of each, on RTL.

Where one of these tests fails because nothing is heard any more, a channel has been closed: measure again (`make bench
ARGS=channels`), and say so on that page.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from channels import cluster, slots
from channels.decoder import ListenerAccesses, ReceivedPayload, message, receive
from eddy.board.port.profile import load_profile
from eddy_sim.gpu.dram_cluster import build_dram_cluster
from system.board.traffic import READ, Traffic

pytestmark = [pytest.mark.rtl, pytest.mark.xdist_group("board-rtl")]

SENT = message(32, 3)
BOARD = load_profile("kv260")
MEMORY = replace(BOARD.dram, base=0, bytes=16 << 20)
READS = Traffic(16, directions=READ, stride=128, under_way=2)
OTHER_SET = 10


@pytest.fixture(scope="module")
def library() -> Path:
    """What runs here is short: optimising takes longer."""
    return build_dram_cluster(cluster.SHAPE, optimise=False)


def of(heard: ListenerAccesses, symbol_cycles: int, latest_cycle: int) -> ReceivedPayload:
    return receive(heard, SENT, symbol_cycles, latest_cycle)


def test_a_slot_hears_when_its_neighbour_reads() -> None:
    got = of(slots.transmit(BOARD, SENT, 160, READS), 160, slots.LATEST_CYCLE)
    assert (got.bits, got.errors) == (32, 0)


def test_a_slot_whose_neighbour_is_silent_hears_nothing() -> None:
    heard = slots.transmit(BOARD, np.zeros_like(SENT), 160, READS)
    assert heard.took.size > 100
    assert np.unique(heard.took[3:]).size == 1


def test_a_core_hears_when_another_contexts_reads_go_to_memory(library: Path) -> None:
    heard = cluster.transmit(cluster.CONTENTION, MEMORY, SENT, 1200, library=library)
    got = of(heard, 1200, cluster.LATEST_CYCLE)
    assert (got.bits, got.errors) == (32, 0)


def test_a_context_finds_its_lines_gone_that_another_displaced(library: Path) -> None:
    """Not by traffic: in the cycles in which it looks the sender rests, and in another set nothing is heard."""

    def sent(sender_set: int) -> ListenerAccesses:
        return cluster.transmit(
            cluster.PRIME_AND_PROBE, MEMORY, SENT, 400, probe_cycle=360, sender_set=sender_set, library=library
        )

    got = of(sent(cluster.SET), 400, cluster.LATEST_CYCLE)
    assert (got.bits, got.errors) == (32, 0)
    assert np.unique(sent(OTHER_SET).took[8:]).size == 1
