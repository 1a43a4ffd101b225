# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Which cluster a kernel is bound to, when it leaves one, and when it is tried."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
from eddy.policy.price.kernel_places import (
    MAX_QUANTA,
    MIN_PART,
    SAVED_QUANTA,
    SLICES_AHEAD,
    STRANDED_EPOCHS,
    TELLING_QUANTA,
    TRIAL_PART,
    ClusterOffer,
    add_trial,
    can_afford_trial,
    choose_cluster,
    entitled_cores,
    is_stranded,
    trial_ends,
)

NEAR = ClusterOffer(slot=1, cores=4, left=0, share=1.0)


def test_least_to_do_for_the_share_wins() -> None:
    busy, free = replace(NEAR, left=3), replace(NEAR, slot=2, left=1)
    assert choose_cluster([busy, free], first=False) == 2
    assert choose_cluster([replace(busy, share=4.0), free], first=False) == 1
    assert choose_cluster([replace(busy, alone=True), free], first=False) == 1, "alone it has every core there"


def test_a_cluster_without_a_share_is_taken_only_where_nobody_wants_it() -> None:
    idle = ClusterOffer(slot=3, cores=4, left=0, share=0.0)
    assert choose_cluster([idle], first=False) == 3
    assert choose_cluster([replace(idle, wanted=True)], first=False) is None
    assert choose_cluster([replace(idle, left=1)], first=False) is None
    assert choose_cluster([idle, NEAR], first=False) == 1, "a share comes first"


def test_the_first_kernel_goes_where_money_gets_it_furthest() -> None:
    slow, fast = replace(NEAR, price=1.0, speed=1.0), ClusterOffer(2, 4, 0, 0.0, price=1.0, wanted=True, speed=3.0)
    assert choose_cluster([slow, fast], first=True) == 2
    assert choose_cluster([slow, fast], first=False) == 1
    assert choose_cluster([slow, replace(fast, price=0.0)], first=True) == 1, "no price: shares stay where they are"


def test_who_has_next_to_nothing_counts_on_all_of_an_idle_cluster() -> None:
    assert entitled_cores(0.5, 4, idle=False) == 2.0 == entitled_cores(0.5, 4, idle=True)
    tiny = MIN_PART / 8
    assert entitled_cores(tiny, 4, idle=False) == 4 * tiny
    assert entitled_cores(tiny, 4, idle=True) == 4.0
    assert entitled_cores(MIN_PART / 4, 4, idle=True) == MIN_PART, "so much is worth a wait"


def test_nothing_is_bound_far_ahead() -> None:
    assert choose_cluster([replace(NEAR, left=SLICES_AHEAD * NEAR.cores)], first=False) is None
    assert choose_cluster([replace(NEAR, left=SLICES_AHEAD * NEAR.cores - 1)], first=False) == 1


def test_the_order_of_offers_does_not_matter() -> None:
    chance = random.Random(5)
    for _ in range(500):
        offers = [
            ClusterOffer(
                *(slot, chance.choice((1, 4, 16)), chance.randrange(10), chance.choice((0.0, 0.0, 0.5, 2.0))),
                *(chance.choice((0.0, 0.3)), chance.random() < 0.5, chance.random() < 0.5, chance.choice((0.0, 1.0))),
            )
            for slot in range(chance.randrange(6))
        ]
        first = chance.random() < 0.5
        chosen = choose_cluster(offers, first)
        assert choose_cluster(chance.sample(offers, len(offers)), first) == chosen
        for each in offers:
            if each.slot == chosen:
                assert each.left < SLICES_AHEAD * each.cores
                assert each.share > 0 or not each.wanted or (first and each.price > 0)


@pytest.mark.parametrize(
    ("share", "others_want", "begun", "rested", "leaves"),
    [
        (0.0, True, False, 0.0, True),
        (0.0, True, True, STRANDED_EPOCHS - 1, False),
        (0.0, True, True, STRANDED_EPOCHS, True),
        (0.1, True, False, 1e9, False),
        (0.0, False, False, 1e9, False),
    ],
)
def test_who_leaves_its_cluster(share: float, others_want: bool, begun: bool, rested: float, leaves: bool) -> None:
    assert is_stranded(share, others_want, begun, rested) is leaves


def test_trials_take_a_hundredth_and_little_is_saved_up() -> None:
    quantum_s, spent_s, took_s, had_s = 1e-3, 0.0, 0.0, 100.0
    while can_afford_trial(spent_s, had_s):
        spent_s, took_s = add_trial(spent_s, had_s, quantum_s, quantum_s), took_s + quantum_s
    assert took_s == pytest.approx(SAVED_QUANTA * quantum_s), "years without a trial are not saved up"
    assert spent_s >= TRIAL_PART * had_s
    assert not can_afford_trial(0.0, 0.0), "who had nothing tries nothing"


def test_a_trial_ends_with_a_slice_that_tells_or_after_enough_of_them() -> None:
    assert trial_ends(TELLING_QUANTA, TELLING_QUANTA, 1.0)
    assert not trial_ends(0.1, 0.9, 1.0)
    assert trial_ends(0.1, MAX_QUANTA, 1.0)
