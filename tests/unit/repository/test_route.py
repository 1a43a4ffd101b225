# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What is placed and routed, how it is compared, and that the page says what is only estimated."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

TOOLS = Path(__file__).resolve().parents[3] / "tools"
sys.path.insert(0, str(TOOLS))
import route  # noqa: E402
from area_report import routes, routing  # noqa: E402
from area_report.routing import Routed, Run, SlowPath, read_routed, read_run, ring_source  # noqa: E402
from area_report.tops import Top  # noqa: E402

BLOCK = """
module inner (input logic clk_i, input logic [7:0] d_i, output logic [7:0] q_o);
  always_ff @(posedge clk_i) q_o <= q_o * 8'd3 + d_i;
endmodule
module two (
  input logic clk_i, input logic slot_clk_i, input logic [7:0] d_i, output logic [7:0] q_o,
  input logic slot_d_i, output logic slot_q_o
);
  inner u_inner (.clk_i, .d_i, .q_o);
  always_ff @(posedge slot_clk_i) slot_q_o <= !slot_d_i;
endmodule
"""
CLOCKS = {"slot_clk_i": "slot_", "clk_i": ""}
PATH = SlowPath(3.0, 7.0, 8, ("u_a", "u_b"))


def port(direction: str, width: int) -> dict[str, Any]:
    return {"direction": direction, "bits": [0] * width}


def test_every_port_lies_at_a_register_of_its_clock() -> None:
    ports = {
        **{"clk_i": port("input", 1), "slot_clk_i": port("input", 1), "slot_d_i": port("input", 2)},
        **{"a_i": port("input", 3), "b_i": port("input", 1), "q_o": port("output", 4)},
    }
    text = ring_source("top", ports, CLOCKS)
    for connection in (
        *(".clk_i(clk_i)", ".slot_clk_i(slot_clk_i)", ".slot_d_i(slot_clk_i_given[1:0])"),
        *(".a_i(clk_i_given[2:0])", ".b_i(clk_i_given[3:3])", ".q_o(clk_i_made[3:0])"),
    ):
        assert connection in text
    assert "slot_clk_i_out" not in text, "nothing comes out on that clock"


@pytest.fixture
def two(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Top:
    monkeypatch.setattr(routing, "ROOT", tmp_path)
    monkeypatch.setattr(routing, "DEVICE", ("--25k", "--speed", "8", "--package", "CABGA381"))
    (tmp_path / "two.sv").write_text(BLOCK)
    (tmp_path / "two.f").write_text("two.sv\n")
    return Top("two", "part", "two", tmp_path / "two.f")


def test_a_block_is_placed_and_routed_once(two: Top, monkeypatch: pytest.MonkeyPatch) -> None:
    routed = Routed(two, CLOCKS, (1,), True)
    run = routing.place(routed, 1)
    assert set(run.mhz) == set(run.paths) == set(CLOCKS)
    assert run.mhz["slot_clk_i"] > run.mhz["clk_i"] > 50
    path = run.paths["clk_i"]
    assert "u_inner" in path.blocks
    assert path.cell_ns + path.wire_ns == pytest.approx(1e3 / run.mhz["clk_i"], rel=0.02)
    monkeypatch.setattr(routing, "COMMAND", ("/bin/false",))
    assert routing.place(routed, 1) == run
    with pytest.raises(subprocess.CalledProcessError):
        routing.place(routed, 2)


def test_what_is_only_placed_has_no_path(two: Top) -> None:
    run = routing.place(Routed(two, CLOCKS, (1,), False), 1)
    assert set(run.mhz) == set(CLOCKS)
    assert not run.paths


def test_of_wires_the_report_counts_and_paths_between_clocks_do_not() -> None:
    log = "Info: Max frequency for clock '$glbnet$clk_i$TRELLIS_IO_IN': 99.00 MHz (PASS at 12.00 MHz)\n"
    assert read_run(log, {"fmax": {}, "critical_paths": []}) == Run({"clk_i": 99.0}, {})

    def step(kind: str, delay: float, to: str) -> dict[str, Any]:
        return {"type": kind, "delay": delay, "from": {"cell": "u.u_a.q_FF"}, "to": {"cell": to}}

    steps = [
        *(step("clk-to-q", 0.5, "u.u_a.q_FF"), step("routing", 1.5, "u.u_b.u_c.x_LUT4")),
        *(step("logic", 0.25, "u.u_b.u_c.x_LUT4"), step("routing", 0, "u.y"), step("setup", 0.25, "clk_i_taken_FF")),
    ]
    ends = ("posedge $glbnet$clk_i", "posedge $glbnet$slot_clk_i", "<async>")
    report = {
        "fmax": {"$glbnet$clk_i$TRELLIS_IO_IN": {"achieved": 80.5, "constraint": 12}},
        "critical_paths": [{"from": ends[0], "to": end, "path": steps} for end in ends],
    }
    run = read_run(log, report)
    assert run.mhz == {"clk_i": 80.5}
    assert run.paths == {"clk_i": SlowPath(1.0, 1.5, 1, ("u_a", "u_b.u_c", "itself", "ports"))}


def entry(*mhz: float, key: str = "k", path: bool = True) -> dict[str, Any]:
    """A top's entry of the record."""
    told = {"path": [3.0, 7.0, 8, ["u_a", "u_b"]]} if path else {}
    return {"key": key, "seeds": [1, 2, 3], "clocks": {"clk_i": {"mhz": list(mhz), **told}}}


def test_a_median_below_the_margin_is_worse() -> None:
    record = {"tops": {"a": entry(90, 100, 120)}}
    least = 100 * (1 - routes.MARGIN)
    assert not routes.worse("a", entry(1, least, 200), record)
    (found,) = routes.worse("a", entry(1, least - 0.1, 200), record)
    assert found.startswith("a: clk_i reaches")
    assert not routes.worse("new", entry(1, 1, 1), record), "what has no record is not worse than it"


def test_the_path_is_that_of_the_slowest_run() -> None:
    top = read_routed()[0].top
    routed = Routed(top, {"clk_i": ""}, (1, 2, 3), True)
    other = SlowPath(1.0, 1.0, 1, ("ports",))
    runs = [Run({"clk_i": mhz}, {"clk_i": PATH if mhz == 90.0 else other}) for mhz in (99.0, 95.0, 90.0)]
    assert routes.summary(routed, runs)["clocks"] == {
        "clk_i": {"mhz": [99.0, 95.0, 90.0], "path": [3.0, 7.0, 8, ["u_a", "u_b"]]}
    }


def test_the_page_tells_estimates_from_what_was_routed() -> None:
    figures = {"tops": {"a": {"key": "k", "path": [11, "x", "y"]}, "b": {"key": "k", "path": [10, "x", "y"]}}}
    tops = {"a": entry(90, 100, 120), "b": entry(31, path=False, key="j")}
    page = routes.section(figures, {"tools": "t 1", "tops": tops})
    assert (
        "| a | 11 | 202 | routed | `clk_i` | 100.0 (90.0 to 120.0) | 8 | 7.0 of 10.0 ns, 70% | `u_a`, `u_b` |" in page
    )
    assert (
        "| b | 10 | 222 | **estimated**: placed only; sources differ from those of the levels | `clk_i` | 31.0 |"
        in page
    )


def test_everything_on_record_is_still_run_with_its_seeds() -> None:
    known = {routed.top.name: routed for routed in read_routed()}
    record = routes.read_record()["tops"]
    assert "slot_path" in record
    assert set(record) <= set(known)
    for name, each in record.items():
        assert tuple(each["seeds"]) == known[name].seeds
        assert set(each["clocks"]) == set(known[name].clocks)


@pytest.mark.parametrize(("mhz", "status"), [(80.0, 1), (95.0, 0)])
def test_the_command_fails_where_a_clock_is_worse(
    mhz: float, status: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    routed = Routed(read_routed()[0].top, {"clk_i": ""}, (1,), True)
    core = Routed(read_routed()[0].top, {"clk_i": ""}, (1,), False)
    kept = tmp_path / "route.json"
    kept.write_text(json.dumps({"tools": "t", "tops": {"slot_path": entry(100, 100, 100)}}))
    monkeypatch.setattr(routes, "RECORD", kept)
    monkeypatch.setattr(route, "read_routed", lambda: [routed, core])
    monkeypatch.setattr(route, "synthesize_between_registers", lambda routed: tmp_path)
    placed = []

    def place(routed: Routed, seed: int) -> Run:
        placed.append(routed)
        return Run({"clk_i": mhz}, {"clk_i": PATH})

    monkeypatch.setattr(route, "place", place)
    monkeypatch.setattr(sys, "argv", ["route.py"])
    assert route.main() == status
    assert placed == [routed], "the core is placed where it is asked for"
    assert ("slot_path: clk_i reaches 80.0 MHz, 20% less" in capsys.readouterr().err) == bool(status)
