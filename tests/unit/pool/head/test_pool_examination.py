# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Each thing that can be wrong with a pool is found, alone, with what to do; a pool that is well has ten findings."""

from __future__ import annotations

from dataclasses import replace

import pytest
from eddy.pool.connection.streams import KEPT, MAX_CONSUMERS, PASSING_ON, WORK
from eddy.pool.routes.pool_examination import (
    CERTIFICATE_S,
    MAX_NAMED,
    ExaminedBytes,
    ExaminedStream,
    ObservedPool,
    examine,
)
from eddy.store.account_tables.audit import AuditVerdict

STREAMS = {name: ExaminedStream(1_000_000, 10_000_000, 3) for name in (*PASSING_ON, *KEPT)}
BYTES = ExaminedBytes("/pool/bytes", blobs=7, kept_bytes=9_000_000)
WELL = ObservedPool(
    STREAMS, frozenset({"b1", "b2"}), {"b1": 1}, {"b1": "1.0", "b2": "1.0"}, frozenset({"b1"}), {"b1": 2},
    skew_s=0.1, release="1.0", server_release="2.12", certificate_s=2 * CERTIFICATE_S, leader="a",
    heads={"a": "1.0", "b": "1.0"}, bytes=BYTES,
    audit=AuditVerdict(17, "17:5f", ()),
)  # fmt: skip
STORE = "KV_eddy_bytes"
LOST = {name: stream for name, stream in STREAMS.items() if name != STORE}
WRONG = {
    "streams": [
        (replace(WELL, streams=LOST), STORE, "restore the pool"),
        (replace(WELL, streams={**STREAMS, WORK: replace(STREAMS[WORK], behind=("two",))}), "two lag", "reach"),
        (
            replace(WELL, streams={**STREAMS, STORE: ExaminedStream(9_500_000, 10_000_000)}),
            "keeps 9.06 MiB of 9.54 MiB",
            "--retention",
        ),
    ],
    "consumers": [
        (replace(WELL, queues=frozenset({"b2"})), "b1 is there and has no queue", "restart"),
        (replace(WELL, streams={**STREAMS, STORE: ExaminedStream(0, 0, MAX_CONSUMERS)}), "10000 readers", "look"),
    ],
    "orphans": [
        (replace(WELL, queued={"b9": 3}), "b9, which is no board of the pool, with 3", "eddy pool forget b9"),
        (replace(WELL, queues=frozenset({"b1", "b9"})), "a queue of b9", "eddy pool forget b9"),
        (replace(WELL, placed={"b9": 4}), "4 jobs are on b9", "takes them back"),
    ],
    "records": [(replace(WELL, unreadable=["eddy_jobs/7"]), "eddy_jobs/7 cannot be read", "restore")],
    "bytes": [
        (replace(WELL, bytes=ExaminedBytes("s3://x", away="timed out")), "s3://x does not answer: timed out", "lost"),
        (replace(WELL, bytes=replace(BYTES, full="The disk is full.")), "The disk is full.", "more room"),
        (replace(WELL, bytes=replace(BYTES, lost=["ada/12ab"])), "blob 12ab of ada is lost", "uploaded again"),
        (replace(WELL, bytes=replace(BYTES, unnamed=3)), "3 blobs in /pool/bytes are nobody's", "within a day"),
        (replace(WELL, bytes=replace(BYTES, drafts=2)), "2 files in /pool/bytes were on their way", "within a day"),
        (replace(WELL, bytes=replace(BYTES, is_whole=False)), "no time to look at more than 7 blobs", "ask again"),
    ],
    "clocks": [
        (replace(WELL, skew_s=-60.0), "-60.0 s", "NTP"),
        (replace(WELL, skew_s=None), "not known", "ask again"),
    ],
    "versions": [
        (replace(WELL, boards={"b1": "0.9", "b2": "1.0"}), "b1 0.9", "one after another"),
        (replace(WELL, boards={"b1": "", "b2": ""}), "b1 (an earlier release)", "one after another"),
        (replace(WELL, heads={"a": "1.0", "b": "0.9"}), "head b 0.9", "heads, then boards"),
        (replace(WELL, heads={"b": "1.0"}), "head a (an earlier release)", "heads, then boards"),
    ],
    "certificate": [(replace(WELL, certificate_s=86_400.0), "good for 1 days", "before it ends")],
    "leader": [(replace(WELL, leader=""), "nothing is placed", "logs")],
    "audit": [(replace(WELL, audit=AuditVerdict(3, "", ("entry 2 is missing",))), "entry 2 is missing", "elsewhere")],
}


def test_a_pool_that_is_well_is_said_to_be() -> None:
    found = examine(WELL)
    assert [each.check for each in found] == list(WRONG)
    assert all(each.ok and not each.advice for each in found)


@pytest.mark.parametrize(
    ("check", "seen", "found", "advice"),
    [(check, *case) for check, cases in WRONG.items() for case in cases],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_is_wrong_is_found_alone(check: str, seen: ObservedPool, found: str, advice: str) -> None:
    (wrong,) = [each for each in examine(seen) if not each.ok]
    assert wrong.check == check
    assert found in wrong.found
    assert advice in wrong.advice


def test_of_many_blobs_that_are_lost_some_are_named_and_all_are_counted() -> None:
    lost = [f"ada/{number}" for number in range(MAX_NAMED + 5)]
    wrong = [each for each in examine(replace(WELL, bytes=replace(BYTES, lost=lost))) if not each.ok]
    assert len(wrong) == MAX_NAMED + 1
    assert "5 blobs more" in wrong[-1].found
