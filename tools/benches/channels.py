# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""How fast one tenant can tell another something by timing alone, on our own RTL.

Sender and listener share no memory, and each stays within what it was granted. The sender reads, or not, a bit a
symbol; the listener times reads of its own. Everything is in cycles of the RTL, so the load of this machine does not
matter. For each channel several lengths of a symbol are tried. Printed are the bits sent and those received wrong, bits
a second, and the capacity of a binary symmetric channel with the errors seen. docs/explanations/isolation.md says what
it means, and what is not measured.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from benches import ROOT, tell

sys.path[:0] = [str(ROOT / "tests"), str(ROOT)]

from channels import cluster, slots  # noqa: E402
from channels.decoder import ListenerAccesses, ReceivedPayload, message, receive  # noqa: E402
from eddy.board.port.profile import load_profile  # noqa: E402
from eddy_sim.design import build  # noqa: E402
from eddy_sim.gpu.dram_cluster import build_dram_cluster  # noqa: E402
from system.board.traffic import READ, Traffic  # noqa: E402

BOARD = load_profile("kv260")
MEMORY = replace(BOARD.dram, base=0, bytes=16 << 20)
CLK_HZ = 100e6
"""Of the shell, the slots and the cluster alike."""
FLOOD = Traffic(16, directions=READ, stride=128)
SENDS = replace(FLOOD, under_way=2)
"""A one, from slot to slot: bursts of 16 beats in a page, two under way."""
PULSES = 8
"""Parts of a symbol of which a one has the first, where the sender may read little."""
LITTLE = replace(BOARD, memory_share=1 / 32)
OTHER_SET = 10
"""No line of the listener's lies in it."""

Sent = npt.NDArray[np.uint8]


@dataclass(frozen=True)
class Channel:
    """A way from one tenant to another.

    Attributes:
        name: What is printed.
        symbols: Cycles of a symbol that are tried.
        latest_cycle: Cycles of the listener in which a message has begun.
        send: Sends a message with symbols of so many cycles.
        payload_bits: Of a message.
        messages: How many are sent; errors of all are counted together.
    """

    name: str
    symbols: tuple[int, ...]
    latest_cycle: int
    send: Callable[[Sent, int], ListenerAccesses]
    payload_bits: int = 960
    messages: int = 2


def from_slots(beside: Traffic | None) -> Callable[[Sent, int], ListenerAccesses]:
    """From slot to slot, beside what a third one does."""
    return lambda sent, symbol: slots.transmit(BOARD, sent, symbol, SENDS, beside)


def pulsed(sent: Sent, symbol: int) -> ListenerAccesses:
    """From slot to slot by little reading: at the beginning of a one, where the regulator lets through a part in 32."""
    parts = np.zeros((sent.size, PULSES), np.uint8)
    parts[:, 0] = sent
    return slots.transmit(LITTLE, parts.reshape(-1), symbol // PULSES, SENDS)


def from_contexts(pair: cluster.Pair, sender_set: int = cluster.SET) -> Callable[[Sent, int], ListenerAccesses]:
    """From context to context of a cluster; where it looks once a symbol, the listener looks as late as it can."""
    return lambda sent, symbol: cluster.transmit(
        pair, MEMORY, sent, symbol, probe_cycle=symbol * 9 // 10, sender_set=sender_set
    )


SLOTS = (400, 240, 160, 118, 80, 64, 48, 40, 32, 24)
PROBES = (1000, 400, 250, 200, 160, 140, 120, 110, 100)
CHANNELS = (
    Channel("slot to slot", SLOTS, slots.LATEST_CYCLE, from_slots(None)),
    Channel("slot to slot, a third reads without end", SLOTS[:5], slots.LATEST_CYCLE, from_slots(FLOOD)),
    Channel(
        "slot to slot, a 32nd of the port each",
        (480, 400, 320, 280, 240, 200, 160),
        slots.LATEST_CYCLE,
        pulsed,
        payload_bits=72,
        messages=14,
    ),
    Channel(
        "contexts of a cluster, by its memory port",
        (2400, 1000, 600, 400, 300, 250, 200, 150),
        cluster.LATEST_CYCLE,
        from_contexts(cluster.CONTENTION),
    ),
    Channel(
        "contexts of a cluster, by a set of its second-level cache",
        PROBES,
        cluster.LATEST_CYCLE,
        from_contexts(cluster.PRIME_AND_PROBE),
    ),
    Channel(
        "the same, the sender in another set",
        (400, 200, 160, 140, 120, 110),
        cluster.LATEST_CYCLE,
        from_contexts(cluster.PRIME_AND_PROBE, OTHER_SET),
    ),
)


def measure(channel: Channel) -> Iterator[ReceivedPayload]:
    """What became of the messages at each length of a symbol."""
    for symbol in channel.symbols:
        found = []
        for seed in range(1, channel.messages + 1):
            sent = message(channel.payload_bits, seed)
            found.append(receive(channel.send(sent, symbol), sent, symbol, channel.latest_cycle))
        bits, errors = sum(each.bits for each in found), sum(each.errors for each in found)
        yield ReceivedPayload(symbol, bits, errors, min(each.apart for each in found))


def row(received: ReceivedPayload) -> dict[str, float]:
    """Its figures, by name."""
    return {
        "symbol_cycles": received.symbol_cycles,
        "bits": received.bits,
        "errors": received.errors,
        "error_rate": received.error_rate,
        "rate_bits_per_s": received.rate_bits_per_s(CLK_HZ),
        "capacity_bits_per_s": received.capacity_bits_per_s(CLK_HZ),
    }


def best(found: list[ReceivedPayload]) -> tuple[ReceivedPayload, ReceivedPayload | None]:
    """The one of greatest capacity, and the fastest without an error, if any."""
    clean = [each for each in found if not each.errors]
    return (
        max(found, key=lambda each: each.capacity_bits_per_s(CLK_HZ)),
        max(clean, key=lambda each: each.rate_bits_per_s(CLK_HZ), default=None),
    )


def bench(options: argparse.Namespace) -> dict[str, Any]:
    """What is received over every channel."""
    build.build_channel(tell)
    build_dram_cluster(cluster.SHAPE, tell)
    found: dict[str, Any] = {}
    for channel in CHANNELS:
        received = []
        for each in measure(channel):
            received.append(each)
            tell(f"{channel.name}: {row(each)}")
        most, clean = best(received)
        fastest = {} if clean is None else {"fastest without an error": row(clean)}
        found[channel.name] = {**{str(e.symbol_cycles): row(e) for e in received}, "most": row(most), **fastest}
    return {"clk_hz": CLK_HZ, **found}
