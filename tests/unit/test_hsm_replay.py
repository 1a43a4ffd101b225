"""Figures from RTL runs, and traces played back on the fast model: on small measurements made up here."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from eddy.studies.hsm import measured, replay
from eddy.studies.hsm.replay import Fit
from eddy.studies.hsm.rtl_data import Alone, Counted, MeasuredRuns, Mix
from eddy.studies.hsm.rtl_traces import Streams

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


def test_traces_are_played_back_at_the_speed_they_were_fitted_to() -> None:
    draw = np.random.default_rng(0)
    each, cores = 300, 4
    streams = Streams(
        line=draw.integers(0, 40_000, each * cores).astype(np.uint32),
        gap=draw.integers(20, 60, each * cores).astype(np.uint16),
        kind=np.where(draw.random(each * cores) < 0.3, 2, 0).astype(np.uint8),
        bytes=np.full(each * cores, 16, np.uint8),
        start=np.arange(0, each * cores + 1, each, dtype=np.uint32),
        instructions=np.full(cores, 5000, np.uint32),
        cycles=np.full(cores, 12_000, np.uint32),
    )
    model = replay.machine(MEMORY, 1e8, 8)
    assert model.memory.burst == 8
    assert model.memory.rcd == 28
    assert model.memory.row_lines == 64
    truth = Fit(1, 0.5, 2, 1.0, 0.0)
    made = replay.kernel("made", streams, truth)
    assert made.groups == cores
    assert (made.lines >> 31).mean() == pytest.approx(0.3, abs=0.05)
    assert ((made.lines[made.lines >> 31 == 1] >> 28 & 7) == 6).all(), "16 bytes leave out six eighths"
    speed = replay.rounds_per_cycle(model, [made], [4])[0]
    found = replay.fitted("made", streams, model, 4, 1 / speed)
    assert abs(found.off) < 0.01


def test_fits_of_other_hardware_are_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(replay, "KEPT", tmp_path / "none.json")
    assert replay.load("any") == {}
    (tmp_path / "none.json").write_text('{"hardware": "a", "fits": {"X 8": {"window": 1, "serial": 0, "stores": 0, ')
    with (tmp_path / "none.json").open("a") as file:
        file.write('"stretch": 1.0, "off": 0.0}}}')
    assert replay.load("b") == {}
    assert replay.load("a") == {"X 8": Fit(1, 0, 0, 1.0, 0.0)}
