# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Outputs on their way to the disk: in order, bounded, and forgotten only when nobody writes any more."""

from __future__ import annotations

import threading
from collections.abc import Iterator, MutableMapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from eddy.hypervisor.engine import output_writer
from eddy.hypervisor.engine.output_writer import OutputWriter
from eddy.hypervisor.jobs.messages import Collected
from eddy.store import Store
from eddy.store.db.rows import ItemOutput, ResultRow

WAIT_S = 180.0


class SlowStore(Store):
    """One whose outputs go to the disk when a gate is open."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.asked, self.gate = threading.Event(), threading.Event()
        write = self.outputs.write

        def slow(results: Sequence[ItemOutput], ends: MutableMapping[tuple[int, str], int]) -> list[ResultRow]:
            self.asked.set()
            assert self.gate.wait(WAIT_S)
            return write(results, ends)

        self.outputs.write = slow  # type: ignore[method-assign]


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SlowStore]:
    made = SlowStore(tmp_path / "eddy.sqlite3")
    yield made
    made.close()


@pytest.fixture
def pool() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(1) as made:
        yield made


def item(job: int, number: int, data: bytes = b"abc") -> tuple[list[ItemOutput], Collected]:
    return [ItemOutput(job, "out", number, data)], Collected(job, number, 0.0)


def test_items_come_to_the_disk_in_order_and_lie_end_to_end_before_any_row_says_so(
    store: SlowStore, tmp_path: Path
) -> None:
    store.gate.set()
    kept = OutputWriter(store)
    for number, data in enumerate((b"one", b"three", b"")):
        kept.submit(*item(7, number, data))
    found = kept.take_finished()
    assert [each.message.item for each in found] == [0, 1, 2]
    assert [each.rows[0][3:5] for each in found] == [(0, 3), (3, 5), (8, 0)]
    assert (tmp_path / "outputs" / "7.out").read_bytes() == b"onethree"
    assert not kept.has_work
    assert kept.take_finished() == []


def test_who_puts_waits_only_where_too_much_waits_for_the_disk(
    store: SlowStore, pool: ThreadPoolExecutor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(output_writer, "MAX_BYTES", 5)
    kept = OutputWriter(store, pool.submit)
    kept.submit(*item(1, 0))
    assert store.asked.wait(WAIT_S)
    kept.submit(*item(1, 1))
    third = threading.Thread(target=kept.submit, args=item(1, 2))
    third.start()
    third.join(0.1)
    assert third.is_alive(), "six bytes wait"
    store.gate.set()
    third.join(WAIT_S)
    assert not third.is_alive()


def test_forgetting_waits_for_what_is_being_written(store: SlowStore, pool: ThreadPoolExecutor) -> None:
    told = threading.Event()
    kept = OutputWriter(store, pool.submit, told.set)
    kept.submit(*item(1, 0))
    assert store.asked.wait(WAIT_S)
    kept.submit(*item(1, 1))
    cleared = threading.Thread(target=kept.clear)
    cleared.start()
    cleared.join(0.1)
    assert cleared.is_alive(), "it is still being written"
    store.gate.set()
    cleared.join(WAIT_S)
    assert not cleared.is_alive()
    assert kept.take_finished() == []
    kept.submit(*item(1, 0, b"again"))
    kept.submit(*item(1, 1, b"!"))
    pool.submit(lambda: None).result(WAIT_S)
    assert [each.rows[0][3:5] for each in kept.take_finished()] == [(0, 5), (5, 1)]
    assert told.is_set()


def test_what_an_ended_job_left_is_asked_of_the_rows_again(store: SlowStore) -> None:
    store.gate.set()
    kept = OutputWriter(store)
    kept.submit(*item(1, 0))
    kept.forget(1)
    kept.submit(*item(1, 0, b"from the first byte"))
    assert [each.rows[0][3] for each in kept.take_finished()] == [0, 0]


def test_a_job_that_ends_while_its_outputs_are_written_is_forgotten_all_the_same(
    store: SlowStore, pool: ThreadPoolExecutor
) -> None:
    kept = OutputWriter(store, pool.submit)
    kept.submit(*item(1, 0))
    assert store.asked.wait(WAIT_S)
    kept.submit(*item(1, 1))
    kept.forget(1)
    store.gate.set()
    pool.submit(lambda: None).result(WAIT_S)
    kept.take_finished()
    kept.submit(*item(1, 0, b"from the first byte"))
    pool.submit(lambda: None).result(WAIT_S)
    assert [each.rows[0][3] for each in kept.take_finished()] == [0]


def test_a_write_gets_the_ends_of_its_own_jobs_and_no_thread_changes_what_another_reads(
    store: SlowStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.gate.set()
    seen: list[set[int]] = []
    write = store.outputs.write

    def recorded(results: Sequence[ItemOutput], ends: MutableMapping[tuple[int, str], int]) -> list[ResultRow]:
        seen.append({job for job, _ in ends})
        return write(results, ends)

    monkeypatch.setattr(store.outputs, "write", recorded)
    kept = OutputWriter(store)
    for job in (1, 2, 1):
        kept.submit(*item(job, 0))
    assert seen == [set(), set(), {1}]
