"""When a board is taken to be gone: after `LEASE_S` in which it would have been heard, and not before."""

from __future__ import annotations

from eddy.pool.link import LEASE_S, RENEW_S
from eddy.pool.mirror import MOST_S, HeardTime


def test_time_in_which_nobody_is_heard_ends_no_lease() -> None:
    clock = [0.0]
    heard = HeardTime(lambda: clock[0])
    for _ in range(4):
        clock[0] += RENEW_S
        heard.beat()
    assert heard.s == 4 * RENEW_S
    before = heard.s
    clock[0] += 60.0  # the servers choose another leader of the bucket
    heard.beat()
    assert heard.s - before == MOST_S < LEASE_S
    for _ in range(5):
        clock[0] += RENEW_S
        heard.beat()
    assert heard.s - before > LEASE_S, "a board that is silent while others are heard is gone"
