"""Figures from RTL runs, and traces played back on the fast model: on small measurements made up here."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from eddy.studies.hsm import measured, replay
from eddy.studies.hsm.replay import Fit
from eddy.studies.hsm.rtl_data import Alone, Counted, MeasuredRuns, Mix, kept
from eddy.studies.hsm.rtl_traces import DATA, PROGRAM, WRITE, Streams

MEMORY = {"bytes_per_s": 8e8, "banks": 16, "row_bytes": 4096, "rcd_ns": 280.0, "rp_ns": 280.0, "cl_ns": 280.0}
MEMORY |= {"ras_ns": 680.0, "faw_ns": 800.0, "wtr_ns": 160.0, "rtw_ns": 80.0, "hashing": 1, "row_hit_cap": 5}
HEAD = {"clk_hz": 1e8, "memory": MEMORY}


def counted(cores: int, cycles: int, requests: int, hits: int, waits: float) -> Counted:
    return Counted(
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


def alone(name: str, cores: int, cycles: int, requests: int, hits: int, waits: float) -> Alone:
    return Alone(name, cores, (cycles,), counted(cores, cycles, requests, hits, waits), ())


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
    monkeypatch.setattr(measured, "kept", lambda: FOUND)
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
    monkeypatch.setattr(measured, "kept", lambda: MeasuredRuns("", {}, {}, {}))
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
        gap=draw.integers(20, 60, each * cores).astype(np.uint16),
        kind=kind,
        bytes=np.full(each * cores, 16, np.uint8),
        start=np.arange(0, each * cores + 1, each, dtype=np.uint32),
        instructions=np.full(cores, 5000, np.uint32),
        cycles=np.full(cores, 12_000, np.uint32),
    )


def test_traces_are_played_back_at_the_speed_they_were_fitted_to() -> None:
    streams, cores = made_up(300, 4), 4
    model = replay.machine(MEMORY, 1e8, 8)
    assert model.memory.burst == 8
    assert model.memory.rcd == 28
    assert model.memory.row_lines == 64
    work = replay.replayed(streams, 0)
    made = replay.kernel("made", work, cores, Fit(1, 0.5, 0, 0))
    assert made.groups == 2 * cores
    assert made.launch == cores
    assert (made.lines >> 31).mean() == pytest.approx(0.3, abs=0.05)
    assert ((made.lines[made.lines >> 31 == 1] >> 28 & 7) == 6).all(), "16 bytes leave out six eighths"
    assert made.gaps.sum() + len(made.gaps) == streams.gap.sum(), "no work is lost"
    speed = replay.rounds_per_cycle(model, [made], [4])[0]
    run = Counted(cycles=int(1 / speed), core_cycles=4, requests=work.writes, cache_misses=0)
    found = replay.fitted(
        lambda ahead, together: replay.replayed(streams, ahead, together),
        Alone("made", 4, (int(1 / speed),), run, ()),
        model,
    )
    assert len(found) == replay.ALIKE
    assert abs(found[0].off) < 0.01
    assert [abs(fit.off) for fit in found] == sorted(abs(fit.off) for fit in found)
    assert all(fit.ahead == 0 for fit in found), "as many stores as there were"


def test_launches_are_found_in_the_streams() -> None:
    parts = replay.launches(made_up(20, 3))
    assert parts == [(0, 10), (20, 30), (40, 50), (10, 20), (30, 40), (50, 60)], "all cores of one, then of the next"


def test_stores_to_one_line_that_are_near_become_one() -> None:
    stored = [(5, WRITE), (6, WRITE), (5, WRITE), (7, WRITE), (8, WRITE), (5, WRITE), (6, DATA), (6, WRITE), (9, DATA)]
    line, kind = ([0, *each] for each in zip(*stored, strict=True))
    streams = Streams(
        line=np.array(line, np.uint32),
        gap=np.arange(10, 10 + len(line), dtype=np.uint16),
        kind=np.array([PROGRAM, *kind[1:]], np.uint8),
        bytes=np.full(len(line), 16, np.uint8),
        start=np.array([0, len(line)], np.uint32),
        instructions=np.zeros(1, np.uint32),
        cycles=np.zeros(1, np.uint32),
    )
    for ahead, lines in ((0, line), (2, [0, 5, 6, 7, 8, 5, 6, 6, 9]), (5, [0, 5, 6, 7, 8, 6, 6, 9])):
        found = replay.replayed(streams, ahead)
        assert (found.lines & 0xFFFFFFF).tolist() == lines, "what was read in between is stored again"
        assert found.gaps.sum() + len(found.gaps) == streams.gap.sum()
        stores = found.lines[found.lines >> 31 == 1]
        assert (8 - (stores >> 28 & 7)).sum() == 14, "seven of 16 bytes"
        assert found.writes == len(stores)


def test_lines_asked_for_before_one_can_have_come_are_asked_for_together() -> None:
    """As long as nothing else comes between; of a program's own lines each stands by itself."""
    kind, gap = [PROGRAM, DATA, DATA, DATA, WRITE, DATA, DATA, PROGRAM], [9, 30, 4, 40, 2, 2, 5, 3]
    streams = Streams(
        line=np.arange(8, dtype=np.uint32),
        gap=np.array(gap, np.uint16),
        kind=np.array(kind, np.uint8),
        bytes=np.full(8, 64, np.uint8),
        start=np.array([0, 8], np.uint32),
        instructions=np.zeros(1, np.uint32),
        cycles=np.zeros(1, np.uint32),
    )
    marks = (replay.replayed(streams, 0, 12).lines >> 28).tolist()
    assert marks == [1, 4, 2, 0, 8, 4, 2, 1], "4: more follow, 2: follows, 1: instructions, 8: a store"
    assert (replay.replayed(streams, 0).lines >> 28).tolist() == [1, 0, 0, 0, 8, 0, 0, 1]


def test_the_machine_played_on_is_the_measured_one() -> None:
    """Where rows lie, and how far apart tenants do, against what the RTL was run with."""
    from eddy.board.dram_map import place
    from eddy.studies.hsm import rtl

    assert replay.SPACE_BYTES == rtl.SPACE_BYTES
    masks, banks, row_bytes = replay.row_masks(MEMORY), rtl.MEMORY.banks, rtl.MEMORY.row_bytes
    for address in np.random.default_rng(1).integers(0, rtl.MEMORY.bytes, 200).tolist():
        row, bank = divmod(address // row_bytes, banks)
        for bit, mask in enumerate(masks):
            bank ^= ((row & mask).bit_count() & 1) << bit
        assert (bank, row) == place(rtl.MEMORY, address)


def test_fits_of_other_hardware_are_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(replay, "KEPT", tmp_path / "none.json")
    assert replay.load("any") == {}
    (tmp_path / "none.json").write_text('{"hardware": "a", "fits": {"X 8": [[1, 0.5, 3, 12, 0.01]]}}')
    assert replay.load("b") == {}
    assert replay.load("a") == {"X 8": [Fit(1, 0.5, 3, 12, 0.01)]}


def test_what_is_kept_is_of_the_measurements_and_mixes_are_as_near_as_is_said() -> None:
    found = kept()
    fits = replay.load(found.hardware)
    assert len(fits) == 30
    off = [abs(float(str(record["off"]))) for record in replay.compare(found, fits)]
    assert len(off) == 2 * len(found.mixes) == 68
    assert np.mean(off) < 0.1
