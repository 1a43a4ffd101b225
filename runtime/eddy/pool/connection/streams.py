# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What the streams of a pool are, as its first head makes them; `eddy.pool.jetstream.link` tells what they hold."""

from __future__ import annotations

from nats.js.api import ConsumerConfig, DiscardPolicy, PersistMode, RetentionPolicy, StreamConfig

WORK, EVENTS = "EDDY_WORK", "EDDY_EVENTS"
AUDIT, AUDIT_SUBJECT = "EDDY_AUDIT", "eddy.audit"
LEASES = "KV_eddy_leases"
LEADER = "KV_eddy_leader"
PASSING_ON = (WORK, EVENTS, LEASES, LEADER)
"""Streams that pass things on: they are made again where they are lost."""
KEPT = (*(f"KV_eddy_{bucket}" for bucket in ("submissions", "jobs", "boards", "keys", "bytes")), AUDIT)
"""Those that keep what is in no other place."""
MAX_CONSUMERS = 10_000
"""Followers of jobs, and readers of each bucket, at the same time. Servers allow 1,000 where nothing is said."""
LEASE_S = 5.0
"""A board or a leader that has not renewed its lease for so long has lost it."""
RENEW_S = 1.0
"""Wall seconds between two renewals."""
GATE = "eddy.gate"
"""What subjects begin with on which boards ask heads; the next word is the board's name."""
HEADS = "eddy.heads"
"""A subject on which heads say who they are to whoever asks."""
EVENTS_KEPT_S = 7 * 86400.0


def short_lived_bucket(bucket: str, replicas: int) -> StreamConfig:
    """A bucket of entries that are written again and again, and forgotten after `LEASE_S`.

    A server alone need not wait for its disk with these: nothing that it forgets as it ends is worth anything when it
    is back, and what one board sends without end keeps nobody else's waiting. Nor may a header of a message take away
    what others wrote.
    """
    return StreamConfig(
        name=f"KV_{bucket}",
        subjects=[f"$KV.{bucket}.>"],
        max_msgs_per_subject=1,
        max_age=LEASE_S,
        duplicate_window=LEASE_S,
        discard=DiscardPolicy.NEW,
        deny_delete=True,
        allow_rollup_hdrs=False,
        num_replicas=replicas,
        persist_mode=PersistMode.ASYNC if replicas == 1 else None,
    )


def work(replicas: int) -> StreamConfig:
    """Jobs given to boards."""
    return StreamConfig(
        name=WORK,
        subjects=["eddy.work.*"],
        retention=RetentionPolicy.WORK_QUEUE,
        num_replicas=replicas,
        duplicate_window=120,
    )


def work_of(board: str) -> ConsumerConfig:
    """What a board takes of them."""
    return ConsumerConfig(durable_name=f"board-{board}", filter_subject=f"eddy.work.{board}", ack_wait=10)


def events(replicas: int) -> StreamConfig:
    """What happened to jobs."""
    return StreamConfig(
        name=EVENTS,
        subjects=["eddy.events.*.*"],
        max_age=EVENTS_KEPT_S,
        discard=DiscardPolicy.OLD,
        num_replicas=replicas,
    )


def audit(replicas: int) -> StreamConfig:
    """What operators changed: no entry can be taken. Purges can: who asks for certain purges what nothing has."""
    return StreamConfig(name=AUDIT, subjects=[AUDIT_SUBJECT], deny_delete=True, num_replicas=replicas)
