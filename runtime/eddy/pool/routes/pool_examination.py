# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What is wrong with a pool, as a function of what a head sees: streams, consumers, orphans, records, bytes, clocks,
versions, certificate. Each answer says what to do."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from eddy.core.units import format_size
from eddy.pool.connection.streams import KEPT, MAX_CONSUMERS, PASSING_ON
from eddy.store.account_tables.audit import AuditVerdict

FULL, MANY = 0.9, 0.8
"""Of what a stream may keep, and of consumers it may have: from there on something is refused soon."""
SKEW_S = 5.0
"""Seconds that a head's date may differ from the servers': a lease's time."""
MAX_NAMED = 20
"""Blobs that are named which are lost."""
CERTIFICATE_S = 30 * 86_400.0
"""Wall seconds before its end from which on a certificate is told of."""


@dataclass(frozen=True, slots=True)
class ExaminedStream:
    """A stream, as its servers say.

    Attributes:
        most_bytes: What it may; 0 for no bound of its own.
        consumers: How many read it.
        behind: Servers that keep it and lag, or do not answer.
    """

    kept_bytes: int = 0
    most_bytes: int = 0
    consumers: int = 0
    behind: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ExaminedBytes:
    """What lies in the pool's place for bytes, beside what is referred to.

    Attributes:
        away: Why nothing of it can be known now; "" where it can.
        full: What it says where it takes no more.
        blobs: How many lie there, as far as was looked.
        is_whole: Whether there was time to look at all.
        lost: Blobs that somebody refers to, and that are not there or of another size, as tenant/hash.
        unnamed: How many lie there that nobody refers to, since longer than any is on its way.
        drafts: How many files on their way in were left.
    """

    place: str
    away: str = ""
    full: str = ""
    blobs: int = 0
    kept_bytes: int = 0
    is_whole: bool = True
    lost: Sequence[str] = ()
    unnamed: int = 0
    drafts: int = 0


@dataclass(frozen=True, slots=True)
class ObservedPool:
    """What one head sees.

    Attributes:
        streams: By name; those that are there.
        queues: Boards that have a consumer of the stream of work.
        queued: Messages in each board's queue.
        boards: Releases of boards that ever joined, by name; "" where one does not say.
        present: Boards whose lease holds.
        placed: Jobs that boards have, by board.
        unreadable: Records that cannot be read, as bucket/key.
        skew_s: This head's date less the servers'; None where that is not known.
        server_release: Of the NATS server it is connected to.
        heads: Releases of heads that answer, by name.
        bytes: What lies in the place for bytes; None where nobody looked.
        certificate_s: Wall seconds until the servers' certificate ends; None where there is none.
        leader: The head that leads; "" where none does.
        audit: What reading all of the audit log found; None where nobody looked.
    """

    streams: Mapping[str, ExaminedStream]
    queues: frozenset[str] = frozenset()
    queued: Mapping[str, int] = field(default_factory=dict)
    boards: Mapping[str, str] = field(default_factory=dict)
    present: frozenset[str] = frozenset()
    placed: Mapping[str, int] = field(default_factory=dict)
    unreadable: Sequence[str] = ()
    skew_s: float | None = None
    release: str = ""
    heads: Mapping[str, str] = field(default_factory=dict)
    bytes: ExaminedBytes | None = None
    server_release: str = ""
    certificate_s: float | None = None
    leader: str = ""
    audit: AuditVerdict | None = None


@dataclass(frozen=True, slots=True)
class PoolFinding:
    """What one check found.

    Attributes:
        check: What was looked at.
        ok: Whether nothing is to be done.
        advice: What to do; "" where nothing is.
    """

    check: str
    ok: bool
    found: str
    advice: str = ""


def examine(seen: ObservedPool) -> list[PoolFinding]:
    """Every check, one or more findings each."""
    checks = (_streams, _consumers, _orphans, _records, _bytes, _clock, _versions, _certificate, _leader, _audit)
    return [finding for check in checks for finding in check(seen)]


def _streams(seen: ObservedPool) -> Iterator[PoolFinding]:
    missing = sorted({*PASSING_ON, *KEPT} - seen.streams.keys())
    for name in missing:
        advice = "heads make it again" if name in PASSING_ON else "restore the pool: what it kept is in no other place"
        yield PoolFinding("streams", False, f"{name} is not there", advice)
    for name, stream in sorted(seen.streams.items()):
        if stream.behind:
            found = f"{name}: {', '.join(stream.behind)} lag or do not answer"
            yield PoolFinding("streams", False, found, "see that these servers run and reach the others")
        if stream.most_bytes and stream.kept_bytes > FULL * stream.most_bytes:
            found = f"{name} keeps {format_size(stream.kept_bytes)} of {format_size(stream.most_bytes)}"
            advice = "remove outputs and blobs, or start heads with --retention-age-s; `--store-bytes` gives more room"
            yield PoolFinding("streams", False, found, advice)
    total = sum(stream.kept_bytes for stream in seen.streams.values())
    if not missing:
        yield PoolFinding("streams", True, f"all {len(seen.streams)} are there, with {format_size(total)}")


def _consumers(seen: ObservedPool) -> Iterator[PoolFinding]:
    for name, stream in sorted(seen.streams.items()):
        if stream.consumers > MANY * MAX_CONSUMERS:
            found = f"{name} has {stream.consumers} readers of {MAX_CONSUMERS} that it may have"
            yield PoolFinding(
                "consumers", False, found, "look for boards that fetch and do not end: `eddy pool status`"
            )
    without = sorted(seen.present - seen.queues)
    for board in without:
        advice = "restart its `eddy serve --pool`, which makes it again"
        yield PoolFinding("consumers", False, f"{board} is there and has no queue", advice)
    if not without:
        readers = sum(stream.consumers for stream in seen.streams.values())
        yield PoolFinding("consumers", True, f"{readers} readers; every board that is there has a queue")


def _orphans(seen: ObservedPool) -> Iterator[PoolFinding]:
    gone = sorted((seen.queues | seen.queued.keys()) - seen.boards.keys())
    for board in gone:
        messages = seen.queued.get(board, 0)
        found = f"a queue of {board}, which is no board of the pool, with {messages} messages"
        yield PoolFinding("orphans", False, found, f"`eddy pool forget {board}` takes it away")
    lost = sorted(seen.placed.keys() - seen.boards.keys())
    for board in lost:
        found = f"{seen.placed[board]} jobs are on {board}, which is no board of the pool"
        yield PoolFinding("orphans", False, found, "the head that leads takes them back; see that one does")
    if not gone and not lost:
        yield PoolFinding("orphans", True, "no queue and no job of a board that is not known")


def _records(seen: ObservedPool) -> Iterator[PoolFinding]:
    for name in seen.unreadable:
        yield PoolFinding("records", False, f"{name} cannot be read", "restore it, or take it away; it is set aside")
    if not seen.unreadable:
        yield PoolFinding("records", True, "all can be read")


def _bytes(seen: ObservedPool) -> Iterator[PoolFinding]:
    if (told := seen.bytes) is None:
        return
    if told.away:
        advice = "see that it runs and that this head reaches it; what needs bytes waits for that, and nothing is lost"
        yield PoolFinding("bytes", False, f"{told.place} does not answer: {told.away}", advice)
        return
    wrong = bool(told.full or told.unnamed or told.drafts)
    if told.full:
        advice = "give it more room, or remove outputs and blobs; nothing more is taken until then"
        yield PoolFinding("bytes", False, told.full, advice)
    for name in told.lost[:MAX_NAMED]:
        tenant, _, sha = name.partition("/")
        found = f"blob {sha} of {tenant} is lost, or a part of it"
        yield PoolFinding("bytes", False, found, "have it uploaded again; where it is an output, the job run again")
    if (more := len(told.lost) - MAX_NAMED) > 0:
        yield PoolFinding("bytes", False, f"{more} blobs more are lost", "restore the place of bytes from its backup")
    if told.unnamed:
        found = f"{told.unnamed} blobs in {told.place} are nobody's"
        advice = "the head that leads takes them away within a day; if they stay, its log says why"
        yield PoolFinding("bytes", False, found, advice)
    if told.drafts:
        found = f"{told.drafts} files in {told.place} were on their way when a head was killed"
        advice = "the head that leads takes them away within a day; if they stay, its log says why"
        yield PoolFinding("bytes", False, found, advice)
    if not told.is_whole:
        found = f"there was no time to look at more than {told.blobs} blobs in {told.place}"
        yield PoolFinding("bytes", False, found, "ask again while it has less to do; what was looked at is said here")
    elif not wrong and not told.lost:
        found = f"{told.blobs} blobs in {told.place}, {format_size(told.kept_bytes)}, each of them somebody's"
        yield PoolFinding("bytes", True, found)


def _clock(seen: ObservedPool) -> Iterator[PoolFinding]:
    if seen.skew_s is None:
        yield PoolFinding("clocks", False, "the servers' date is not known yet", "ask again in some seconds")
        return
    found = f"this head's date differs from the servers' by {seen.skew_s:+.1f} s"
    ok = abs(seen.skew_s) <= SKEW_S
    yield PoolFinding("clocks", ok, found, "" if ok else "set the clocks (NTP): deadlines and usage go by them")


def _versions(seen: ObservedPool) -> Iterator[PoolFinding]:
    others = sorted(
        f"{board} {release}" for board, release in seen.boards.items() if release != seen.release and release
    )
    silent = sorted(board for board in seen.present if not seen.boards.get(board))
    others += sorted(f"head {head} {release}" for head, release in seen.heads.items() if release != seen.release)
    if seen.heads and seen.leader and seen.leader not in seen.heads:
        silent.append(f"head {seen.leader}")
    found = f"this head is {seen.release}, NATS {seen.server_release or 'does not say'}"
    if others or silent:
        said = [*others, *(f"{each} (an earlier release)" for each in silent)]
        advice = "two releases work together; upgrade heads, then boards one after another (drain, restart, undrain)"
        yield PoolFinding("versions", False, f"{found}; others: {', '.join(said)}", advice)
    else:
        yield PoolFinding("versions", True, f"{found}; all heads and boards that say are the same")


def _certificate(seen: ObservedPool) -> Iterator[PoolFinding]:
    if seen.certificate_s is None:
        yield PoolFinding("certificate", True, "the connection to the servers has none")
        return
    found = f"the servers' certificate is good for {seen.certificate_s / 86_400.0:.0f} days"
    ok = seen.certificate_s > CERTIFICATE_S
    advice = "make another pool's, or the servers' own, before it ends: nothing connects then"
    yield PoolFinding("certificate", ok, found, "" if ok else advice)


def _leader(seen: ObservedPool) -> Iterator[PoolFinding]:
    if seen.leader:
        yield PoolFinding("leader", True, f"{seen.leader} leads")
    else:
        yield PoolFinding("leader", False, "no head leads: nothing is placed", "see heads' logs; one leads within 5 s")


def _audit(seen: ObservedPool) -> Iterator[PoolFinding]:
    if seen.audit is None:
        return
    for problem in seen.audit.problems:
        advice = "compare with `eddy audit` as kept elsewhere: the servers lost it, or somebody with a head's key wrote"
        yield PoolFinding("audit", False, problem, advice)
    if not seen.audit.problems:
        yield PoolFinding("audit", True, f"{seen.audit.entries} entries, all as they were written")
