# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The order of a session's commands, how they travel, the heap, and the directory on the board."""

from __future__ import annotations

import random
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from eddy.core.errors import InvalidRequest, MemoryExhausted, QuotaExceeded
from eddy.core.frames import pack_frame, split_frame
from eddy.core.sessions import COMMAND_TRANSITIONS, SESSION_TRANSITIONS, CommandState
from eddy.gpu.programs.ndrange import Local
from eddy.hypervisor.sessions.commands import Box, BufferArgument, LaunchCommand, Marker, Refused, Write, parse_commands
from eddy.hypervisor.sessions.directory import FATES, MAX_BUFFERS, Directory, Fate, read_directory
from eddy.hypervisor.sessions.heap import Heap
from eddy.hypervisor.sessions.numbers import MAX_SESSIONS, launch_job, launch_of, session_job, session_of
from eddy.hypervisor.sessions.stream import CommandStream, Entry

PROGRAM = "0" * 32


def commands(*raw: dict[str, object]) -> CommandStream:
    return fed(CommandStream(), *raw)


def fed(stream: CommandStream, *raw: dict[str, object]) -> CommandStream:
    for command in parse_commands([{"n": n, **each} for n, each in enumerate(raw, stream.accepted + 1)], b""):
        stream.accept(command, 1.0)
    return stream


def ready(stream: CommandStream) -> list[int]:
    return [entry.command.number for entry in stream.ready()]


def launch(*buffers: int, after: tuple[int, ...] = ()) -> dict[str, object]:
    arguments = [{"buffer": each} for each in buffers]
    return {"do": "launch", "program": PROGRAM, "kernel": "k", "global": [4], "arguments": arguments, "after": [*after]}


def create(buffer: int) -> dict[str, object]:
    return {"do": "create", "buffer": buffer, "bytes": 64}


def end(stream: CommandStream, number: int, code: str = "") -> None:
    entry = stream.open[number]
    stream.begin(entry, 2.0)
    stream.end(entry, 3.0, code=code, started_s=2.5)


def test_in_order_each_command_comes_after_the_last_and_tells_its_times() -> None:
    stream = commands(create(1), launch(1), launch(1))
    for number in (1, 2, 3):
        assert ready(stream) == [number]
        end(stream, number)
    assert [serial for serial, _ in stream.results] == [1, 2, 3]
    assert {result.times_s for _, result in stream.results} == {(1.0, 2.0, 2.5, 3.0)}
    assert stream.is_ended(3)
    assert not stream.is_ended(4)


def test_out_of_order_only_events_barriers_and_the_life_of_buffers_order_commands() -> None:
    stream = CommandStream(out_of_order=True)
    fed(
        stream, create(1), create(2), launch(1), launch(2), {"do": "release", "buffer": 1}, {"do": "barrier"}, launch(2)
    )
    assert ready(stream) == [1, 2]
    end(stream, 2)
    assert ready(stream) == [1, 4], "a buffer is made before it is used"
    end(stream, 1)
    assert ready(stream) == [3, 4]
    end(stream, 3)
    assert ready(stream) == [4, 5], "and used before it is released"
    end(stream, 5)
    end(stream, 4)
    assert ready(stream) == [6]
    end(stream, 6)
    assert ready(stream) == [7]


def test_what_comes_after_a_failure_by_name_is_broken_and_what_only_follows_is_not() -> None:
    stream = commands(launch(), launch(after=(1,)), launch())
    end(stream, 1, code="kernel-trap")
    assert stream.open[2].broken == 1
    end(stream, 2, code="dependency-failed")
    assert stream.open[3].broken == 0
    fed(stream, launch(after=(1,)))
    assert stream.open[4].broken == 1, "also where it failed before"


def test_a_batch_that_comes_twice_is_taken_once_and_results_are_kept_until_they_are_known() -> None:
    stream = commands(launch(), launch())
    again = parse_commands([{"n": 1, **launch()}, {"n": 2, **launch()}], b"")
    assert [stream.accept(command, 5.0) for command in again] == [None, None]
    end(stream, 1)
    end(stream, 2)
    stream.take(1)
    assert [result.number for _, result in stream.results] == [2]
    stream.take(2)
    assert not stream.results
    assert stream.ended == 2


def test_what_was_read_and_printed_counts_until_the_client_has_it() -> None:
    stream = commands(launch(), launch())
    for number in (1, 2):
        stream.end(stream.open[number], 3.0, data=b"abc", log="de")
    assert stream.data_bytes == 10
    stream.take(1)
    assert stream.data_bytes == 5


def test_any_order_of_ends_out_of_order_releases_everything_once() -> None:
    draw = random.Random(7)
    for _ in range(30):
        stream, count = CommandStream(out_of_order=True), 24
        for number in range(1, count + 1):
            after = tuple({draw.randrange(1, number) for _ in range(draw.randrange(3))} if number > 1 else ())
            kind: dict[str, object] = draw.choice(
                [launch(1, after=after), {"do": "barrier"}, {"do": "marker", "after": [*after]}]
            )
            fed(stream, kind)
        done: list[int] = []
        while stream.open:
            number = draw.choice(ready(stream))
            assert set(stream.open[number].command.after) <= set(done)
            end(stream, number)
            done.append(number)
        assert sorted(done) == list(range(1, count + 1))


def reached(table: Mapping[Any, frozenset[Any]], first: object) -> set[object]:
    found, todo = set[object](), [first]
    while todo:
        state = todo.pop()
        if state not in found:
            found.add(state)
            todo += table[state]
    return found


@pytest.mark.parametrize("table", [SESSION_TRANSITIONS, COMMAND_TRANSITIONS], ids=["session", "command"])
def test_every_state_is_reached_and_leads_to_an_end(table: Mapping[Any, frozenset[Any]]) -> None:
    first = next(iter(table))
    assert reached(table, first) == {*table}
    for state in table:
        assert any(not table[each] for each in reached(table, state))


def test_the_page_of_the_decision_draws_the_table() -> None:
    page = (Path(__file__).parents[4] / "docs/decisions/sessions.md").read_text(encoding="utf-8")
    drawn = {(a, b) for a, b in re.findall(r"^    (\w+) --> (\w+)$", page, re.MULTILINE)}
    assert drawn == {(a.value, b.value) for a, ends in SESSION_TRANSITIONS.items() for b in ends}


def test_an_entry_moves_along_the_table_alone() -> None:
    entry = Entry(parse_commands([{"n": 1, **launch()}], b"")[0])
    with pytest.raises(AssertionError, match="no way from queued to running"):
        entry.move(CommandState.RUNNING)


WRONG: list[dict[str, object]] = [
    {"do": "launch", "program": "x", "kernel": "k", "global": [1]},
    {"do": "launch", "program": PROGRAM, "kernel": "k", "global": [1], "arguments": [{"buffer": 1, "offset": -1}]},
    {"do": "launch", "program": PROGRAM, "kernel": "k", "global": [1], "arguments": [{"value": float("inf")}]},
    {"do": "launch", "program": PROGRAM, "kernel": "k", "global": []},
    {"do": "fill", "buffer": 1, "bytes": 5, "pattern": "AAAA"},
    {"do": "read", "buffer": 1, "shape": [8, 2, 1], "pitch": [4, 8]},
    {"do": "read", "buffer": True, "bytes": 1},
    {"do": "create", "buffer": 1, "bytes": 0},
    {"do": "burn"},
]


@pytest.mark.parametrize("raw", WRONG)
def test_a_wrong_command_is_refused_alone(raw: dict[str, object]) -> None:
    wrong, good = parse_commands([{"n": 1, **raw}, {"n": 2, "do": "marker"}], b"")
    assert isinstance(wrong.body, Refused)
    assert "must be" in wrong.body.message
    assert good.body == Marker(barrier=False)


@pytest.mark.parametrize("raw", [7, {"do": "marker"}, {"n": 1, "do": "marker", "after": [1]}, {"n": 1, "do": "write"}])
def test_a_batch_in_which_a_command_cannot_be_told_is_refused_whole(raw: object) -> None:
    with pytest.raises(InvalidRequest):
        parse_commands([raw], b"")


def test_what_a_wrong_write_brings_is_passed_over() -> None:
    raw = {"n": 1, "do": "write", "buffer": 1, "bytes": 3, "shape": [1, 1, 3], "pitch": [0, 0]}
    wrong, good = parse_commands([raw, {"n": 2, "do": "write", "buffer": 1, "bytes": 2}], b"abcde")
    assert isinstance(wrong.body, Refused)
    assert isinstance(good.body, Write)
    assert good.body.data == b"de"


def test_bytes_of_writes_come_end_to_end_and_none_are_left() -> None:
    writes = [{"n": n, "do": "write", "buffer": 1, "offset": 0, "bytes": n} for n in (1, 2)]
    first, second = (each.body for each in parse_commands(writes, b"abc"))
    assert isinstance(first, Write)
    assert isinstance(second, Write)
    assert (first.data, second.data) == (b"a", b"bc")
    with pytest.raises(InvalidRequest, match="take 3 bytes; 4 came"):
        parse_commands(writes, b"abcd")


def test_arguments_travel() -> None:
    raw = [
        {"buffer": 3, "offset": 4},
        {"local": 16},
        {"value": 2.5},
        {"value": [1, 2]},
        {"bytes": "AQ=="},
        {"null": True},
    ]
    body = parse_commands([{"n": 1, **launch(), "arguments": raw}], b"")[0].body
    assert isinstance(body, LaunchCommand)
    assert body.arguments == (BufferArgument(3, 4), Local(16), 2.5, (1, 2), b"\1", None)


def test_a_box_is_cut_into_what_lies_together() -> None:
    assert [*Box(1, 10, (4, 2, 2), (8, 32)).spans()] == [(10, 4), (18, 4), (42, 4), (50, 4)]
    assert [*Box(1, 0, (4, 3, 1), (4, 12)).spans()] == [(0, 12)]
    assert Box(1, 10, (4, 2, 2), (8, 32)).end == 54


def test_frames_travel_and_what_is_none_is_refused() -> None:
    assert split_frame(pack_frame({"a": 1}, [b"xy", b"z"])) == (b'{"a":1}', b"xyz")
    for wrong in (b"", b"\1", b"\xff\xff\xff\x7f{}", b"\3\0\0\0{}"):
        with pytest.raises(InvalidRequest):
            split_frame(wrong)


def test_numbers_of_sessions_and_launches_are_found_again_and_fit_the_board() -> None:
    for session, command in ((1, 1), (MAX_SESSIONS, (1 << 40) - 1), (7, 1 << 39)):
        assert launch_of(launch_job(session, command)) == (session, command)
        assert session_of(session_job(session)) == session
        assert session_of(launch_job(session, command)) is None
        assert launch_job(session, command) < 1 << 63
    assert launch_of(session_job(5)) is None
    assert session_of(12) is None


def test_the_heap_gives_each_byte_once_and_takes_them_back() -> None:
    draw, heap, held = random.Random(3), Heap(100, 1 << 16), dict[int, int]()
    for _ in range(400):
        if held and draw.random() < 0.45:
            begin = draw.choice([*held])
            heap.free(begin)
            del held[begin]
            continue
        size = draw.randrange(1, 3000)
        if max(end - first for first, end in heap.gaps()) < size + 63:
            continue
        begin = heap.allocate(size)
        assert all(begin + size <= other or other + taken <= begin for other, taken in held.items())
        assert begin >= 100
        assert begin + size <= 1 << 16
        held[begin] = size
    for begin in held:
        heap.free(begin)
    assert heap.gaps() == Heap(100, 1 << 16).gaps()
    with pytest.raises(MemoryExhausted, match="the largest gap has"):
        heap.allocate(1 << 16)
    assert len(heap.gaps()) == 1


class Memory:
    """Bytes on a board."""

    def __init__(self) -> None:
        self.bytes = bytearray(1 << 20)
        self.writes = 0

    def put(self, at: int, data: bytes) -> None:
        self.bytes[at : at + len(data)] = data
        self.writes += 1

    def read(self, at: int, size: int) -> bytes:
        return bytes(self.bytes[at : at + size])


def test_a_directory_is_read_as_it_was_written() -> None:
    memory, kept = Memory(), Directory()
    kept.add_buffer(3, 4096, 100)
    kept.add_buffer(4, 8192, 50)
    kept.note(1, Fate.COMPLETE)
    kept.note(2, Fate.FAILED)
    kept.note(4, Fate.BEGUN)
    kept.write(memory.put)
    kept.remove_buffer(3)
    kept.note(3, Fate.WHOLE)
    kept.write(memory.put)
    found = read_directory(memory.read, 1 << 16)
    assert found is not None
    assert (found.through, found.buffers) == (2, {4: (8192, 50)})
    assert found.fates == {1: Fate.COMPLETE, 2: Fate.FAILED, 3: Fate.WHOLE, 4: Fate.BEGUN}
    before = memory.writes
    kept.write(memory.put)
    assert memory.writes == before, "nothing changed"
    assert Directory.found(found).image() == kept.image()


def test_fates_go_round_and_old_ones_are_not_taken_for_new_ones() -> None:
    kept = Directory()
    for number in range(1, 3 * FATES):
        assert kept.fate(number) is Fate.UNKNOWN
        kept.note(number, Fate.COMPLETE)
        assert kept.through == number
    assert kept.fate(1) is Fate.COMPLETE


def test_a_directory_that_cannot_be_right_is_none() -> None:
    kept = Directory()
    kept.add_buffer(1, 0, 100)
    kept.add_buffer(2, 64, 100)
    overlapping = kept.image()
    assert read_directory(lambda at, size: overlapping[at : at + size], 1 << 16) is None
    assert read_directory(lambda at, size: bytes(size), 1 << 16) is None
    alone = Directory()
    alone.add_buffer(1, 0, 100)
    assert read_directory(lambda at, size: alone.image()[at : at + size], 99) is None


def test_a_session_has_so_many_buffers_and_no_more() -> None:
    kept = Directory()
    for buffer in range(1, MAX_BUFFERS + 1):
        kept.add_buffer(buffer, 64 * buffer, 64)
    with pytest.raises(QuotaExceeded, match="at most"):
        kept.add_buffer(MAX_BUFFERS + 1, 0, 1)
    kept.remove_buffer(5)
    kept.add_buffer(MAX_BUFFERS + 1, 0, 1)
