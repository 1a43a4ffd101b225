# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The decoder of timing channels, on traces whose message is known."""

from __future__ import annotations

import numpy as np
import pytest
from channels.decoder import LEAD, PREAMBLE, ListenerAccesses, ReceivedPayload, levels, message, receive

SYMBOL = 100


def trace(sent: np.ndarray, begins: int, short: int, long: int, symbol: int = SYMBOL) -> ListenerAccesses:  # type: ignore[type-arg]
    """Accesses one after the other: each is long or short by the bit of the cycle in which it begins."""
    ended = [0]
    while ended[-1] < begins + symbol * sent.size + 500:
        at = (ended[-1] - begins) // symbol
        bit = 0 <= at < sent.size and sent[at]
        ended.append(ended[-1] + (long if bit else short))
    return ListenerAccesses.of_ends(np.array(ended))


@pytest.mark.parametrize("begins", [0, 37, 950])
@pytest.mark.parametrize(("short", "long"), [(10, 25), (25, 10), (30, 33)])
def test_a_known_message_is_read_wherever_it_begins_and_whichever_takes_longer(
    begins: int, short: int, long: int
) -> None:
    sent = message(200, 7)
    got = receive(trace(sent, begins, short, long), sent, SYMBOL, 1000)
    assert (got.bits, got.errors) == (200, 0)


def test_what_was_not_sent_is_counted_as_wrong() -> None:
    sent = message(200, 7)
    heard = trace(sent, 40, 10, 25)
    other = sent.copy()
    other[-30::3] ^= 1
    assert receive(heard, other, SYMBOL, 1000).errors == 10


def test_the_payload_is_not_used_to_decode() -> None:
    """Another payload is compared with what was heard, and finds half of it wrong."""
    sent, other = message(400, 7), message(400, 8)
    errors = receive(trace(sent, 40, 10, 25), other, SYMBOL, 1000).errors
    assert errors == int((sent != other).sum())
    assert 150 < errors < 250


def test_silence_tells_nothing() -> None:
    sent = message(400, 7)
    got = receive(trace(sent, 40, 10, 10), sent, SYMBOL, 1000)
    assert 150 < got.errors < 250
    assert got.apart < 0.1


def test_an_access_counts_in_every_symbol_that_it_reaches_over() -> None:
    heard = ListenerAccesses(np.array([10, 20, 70, 80]), np.array([10, 10, 50, 10]))
    assert levels(heard, 0, 20, 4).tolist() == [10, 50, 50, 30]


def test_capacity_is_that_of_a_binary_symmetric_channel() -> None:
    def at(errors: int) -> float:
        return ReceivedPayload(100, 1000, errors, 1.0).capacity_bits_per_s(100e6)

    assert at(0) == 1e6
    assert at(500) == 0
    assert at(110) == pytest.approx(0.5e6, rel=1e-3), "H(0.11) is 0.49992"
    assert at(890) == pytest.approx(at(110))


def test_preamble_and_lead() -> None:
    assert PREAMBLE.sum() * 2 == PREAMBLE.size
    sent = message(5, 1)
    assert sent.size == LEAD.size + PREAMBLE.size + 5
    np.testing.assert_array_equal(sent[LEAD.size :][: PREAMBLE.size], PREAMBLE)
