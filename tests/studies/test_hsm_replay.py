# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Figures from RTL runs, and traces played back on the fast model: on small measurements made up here."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from eddy_studies.hsm import measured, replay, rtl_traces
from eddy_studies.hsm.rtl_data import CounterTotals, MeasuredRuns, Mix, SoloRun, load_runs
from eddy_studies.hsm.rtl_traces import DATA, PROGRAM, WRITE, Streams

MEMORY = {"bytes_per_s": 8e8, "banks": 16, "row_bytes": 4096, "rcd_ns": 280.0, "rp_ns": 280.0, "cl_ns": 280.0}
MEMORY |= {"ras_ns": 680.0, "faw_ns": 800.0, "wtr_ns": 160.0, "rtw_ns": 80.0, "hashing": 1, "row_hit_cap": 5}
HEAD = {"clk_hz": 1e8, "memory": MEMORY}


def counted(cores: int, cycles: int, requests: int, hits: int, waits: float) -> CounterTotals:
    return CounterTotals(
        cycles=cycles,
        core_cycles=cores * cycles,
        instructions=int(cores * cycles * (1 - waits)),
        requests=requests,
        bytes=64 * requests,
        row_hits=hits,
        cache_hits=requests // 4,
        cache_misses=requests,
        stall_cycles=int(cores * cycles * waits),
    )


def alone(name: str, cores: int, cycles: int, requests: int, hits: int, waits: float) -> SoloRun:
    return SoloRun(name, cores, (cycles,), counted(cores, cycles, requests, hits, waits), ())


RUNS = {
    **{("LOW", cores): alone("LOW", cores, cycles, 4000, 800, 0.8) for cores, cycles in ((4, 70_000), (8, 65_000))},
    **{("HIGH", cores): alone("HIGH", cores, cycles, 6000, 5400, 0.7) for cores, cycles in ((4, 75_000), (8, 70_000))},
    **{("SUM", cores): alone("SUM", cores, cycles, 100, 50, 0.01) for cores, cycles in ((4, 80_000), (8, 40_000))},
}
MIXES: dict[tuple[tuple[str, ...], tuple[int, ...]], Mix] = {
    (("LOW", "SUM"), (4, 4)): Mix(
        *(("LOW", "SUM"), (4, 4), ((80_000, 160_000), (81_000, 162_000))),
        *((counted(4, 160_000, 8000, 1500, 0.85), counted(4, 162_000, 200, 90, 0.01)), ((), ())),
    ),
}
FOUND = MeasuredRuns("made-up", HEAD, RUNS, MIXES)


def test_figures_of_measured_runs_say_that_they_are_rtl(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(measured, "load_runs", lambda: FOUND)
    rows, heads = measured.rows(tmp_path)
    assert {row.figure for row in rows} == {"2", "3", "4", "10"}
    assert all("RTL" in row.note for row in rows)
    assert heads["mixes"] == 1
    assert heads["hardware"] == "made-up"
    errors = heads["progress_error"]
    assert isinstance(errors, dict)
    # SUM is compute-bound, had half the cores, and took 81,000 cycles where it takes 40,000 alone.
    assert errors["hsm"]["mean"] < 0.3
    lines = (tmp_path / "predictions_RTL.csv").read_text().splitlines()
    assert len(lines) == 3
    assert "LOW SUM,SUM,0.4938,0.5" in lines[2]
    here = measured.Cluster8(FOUND)
    assert set(here.points) == {"LOW", "HIGH"}
    assert here.law.c1 > 0
    assert here.scaling()["SUM"] == {4: 0.5, 8: 1.0}
    monkeypatch.setattr(measured, "load_runs", lambda: MeasuredRuns("", {}, {}, {}))
    assert measured.rows(tmp_path) == ([], {})


def made_up(each: int, cores: int) -> Streams:
    """Streams of two launches: every core fetches the first line of the program twice."""
    draw = np.random.default_rng(0)
    line = draw.integers(1, 40_000, each * cores).astype(np.uint32)
    kind = np.where(draw.random(each * cores) < 0.3, WRITE, DATA).astype(np.uint8)
    for begin in range(0, each * cores, each // 2):
        line[begin], kind[begin] = 0, PROGRAM
    return Streams(
        line=line,
        gap=draw.integers(20, 60, each * cores).astype(np.uint32),
        kind=kind,
        bytes=np.full(each * cores, 16, np.uint8),
        after=np.where(np.arange(each * cores) % 4 == 3, 10, 0).astype(np.uint32),
        data=np.full(each * cores, 1, np.uint8),
        program=np.zeros(each * cores, np.uint8),
        start=np.arange(0, each * cores + 1, each, dtype=np.uint32),
        instructions=np.full(cores, 5000, np.uint32),
        cycles=np.full(cores, 12_000, np.uint32),
    )


def test_traces_are_played_back_in_a_closed_loop() -> None:
    streams, cores = made_up(300, 4), 4
    model = replay.machine(MEMORY, 1e8, 8)
    assert model.memory.burst == 8
    assert model.memory.rcd == 28
    assert model.memory.row_lines == 64
    made = replay.kernel("made", replay.replayed(streams), cores)
    assert made.groups == 2 * cores
    assert made.launch == cores
    assert (made.lines >> 31).mean() == pytest.approx(0.3, abs=0.05)
    assert ((made.lines[made.lines >> 31 == 1] >> 28 & 7) == 6).all(), "16 bytes leave out six eighths"
    free = streams.after == 0
    assert made.gaps.sum() + len(made.gaps) == streams.gap[free].sum() + (~free).sum(), "no work is lost"
    assert made.waits is not None
    assert sorted(set((made.waits >> 8).tolist())) == [0, 9 * 16 + 1], "the other work begins with the answer"
    assert set((made.waits & 255).tolist()) == {1}
    slower = replay.kernel("slower", replay.replayed(replace(streams, gap=(2 * streams.gap).astype(np.uint32))), cores)
    (alone,) = replay.rounds_per_cycle(model, [made], [4])
    both = replay.rounds_per_cycle(model, [made, slower], [4, 4])
    assert alone <= cores / streams.gap[free].sum(), "not faster than its work"
    assert alone > both[0] > both[1]


def test_launches_are_found_in_the_streams() -> None:
    parts = replay.launches(made_up(20, 3))
    assert parts == [(0, 10), (20, 30), (40, 50), (10, 20), (30, 40), (50, 60)], "all cores of one, then of the next"


def written_down(stored: list[tuple[int, int]], gap: list[int], size: int, **of: list[int]) -> Streams:
    """A core's stream after the program's first line, by line and kind."""
    line, kind = ([first, *each] for first, each in zip((0, PROGRAM), zip(*stored, strict=True), strict=True))
    none = [0] * len(line)
    return Streams(
        line=np.array(line, np.uint32),
        gap=np.array(gap, np.uint32),
        kind=np.array(kind, np.uint8),
        bytes=np.full(len(line), size, np.uint8),
        after=np.array(of.get("after", none), np.uint32),
        data=np.array(of.get("data", none), np.uint8),
        program=np.array(of.get("program", none), np.uint8),
        start=np.array([0, len(line)], np.uint32),
        instructions=np.zeros(1, np.uint32),
        cycles=np.zeros(1, np.uint32),
    )


def test_each_request_has_its_work_and_what_it_waited_for() -> None:
    kinds = [(5, WRITE), (6, WRITE), (9, DATA), (8, DATA)]
    found = replay.replayed(written_down(kinds, [9, 30, 4, 40, 2], 16, after=[0, 0, 3, 0, 0], data=[0, 1, 0, 0, 1]))
    assert (found.lines & 0xFFFFFFF).tolist() == [0, 5, 6, 9, 8]
    assert (found.lines >> 28).tolist() == [1, 14, 14, 0, 0], "1: instructions, 8: a store; 16 bytes of 64"
    assert found.gaps.tolist() == [8, 29, 0, 39, 1]
    assert (found.waits >> 8).tolist() == [0, 0, 2 * 16 + 1, 0, 0]
    assert (found.waits & 15).tolist() == [0, 1, 0, 0, 1]
    assert found.first.tolist() == [0, 5]


def test_the_machine_played_on_is_the_measured_one() -> None:
    """Where rows lie, and how far apart tenants do, against what the RTL was run with."""
    from eddy.board.port.dram_map import place
    from eddy_studies.hsm import rtl

    assert replay.SPACE_BYTES == rtl.SPACE_BYTES
    masks, banks, row_bytes = replay.row_masks(MEMORY), rtl.MEMORY.banks, rtl.MEMORY.row_bytes
    for address in np.random.default_rng(1).integers(0, rtl.MEMORY.bytes, 200).tolist():
        row, bank = divmod(address // row_bytes, banks)
        for bit, mask in enumerate(masks):
            bank ^= ((row & mask).bit_count() & 1) << bit
        assert (bank, row) == place(rtl.MEMORY, address)


def test_streams_of_other_hardware_are_not_compared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(replay, "load_runs", lambda: replace(load_runs(), hardware="other"))
    assert replay.rows(tmp_path) == ([], {})


def test_mixes_are_as_near_as_is_said() -> None:
    """Every fourth of them; the study compares all."""
    found = load_runs()
    assert found.hardware == rtl_traces.hardware()
    assert len(found.mixes) == 34
    some = list(found.mixes.values())[::4]
    off = [abs(float(str(record["off"]))) for record in replay.compare(found, some)]
    assert len(off) == 2 * len(some)
    assert np.mean(off) < 0.063
    assert max(off) < 0.22
