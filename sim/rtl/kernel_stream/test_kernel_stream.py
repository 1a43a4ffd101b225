# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Builds and runs the benches of `hw/ip/kernel_stream`: streams of beats narrower and wider than a word,
a run's start and end, a kernel that is started by its registers, registers of ports, and memories behind ports."""

from pathlib import Path

import pytest
from eddy_sim.design.bench import ROOT, Bench, BenchFailed
from eddy_sim.tools.prove import Mutation

HERE = Path(__file__).parent
FILES = ROOT / "hw/ip/kernel_stream/kernel_stream.f"
RUN = Bench(
    "kernel_run",
    FILES,
    parameters={"NumStreams": 2, "ToKernel": "2'b01", "SaysDone": 1, "SaysReady": 1, "StallCycles": 40},
)
POKE = Bench(
    "kernel_poke",
    FILES,
    parameters={
        **{"StartAddr": "16'h10", "StartValue": "32'h4", "DoneAddr": "16'h14", "DoneMask": "32'h20", "Release": 1},
        **{"Acknowledge": 1, "AcknowledgeAddr": "16'h18", "AcknowledgeValue": "32'h80"},
    },
)
SCALARS = Bench(
    "kernel_scalars", FILES, parameters={"Words": 3, "Results": 2, "Kept": "96'h000001FF_FFFFFFFF_FFFFFFFF"}
)
ARRAYS = [
    Bench("kernel_array", FILES, parameters=parameters)
    for parameters in (
        {"Width": 12, "Depth": 5, "AddrWidth": 4, "Sides": 2},
        {"Width": 64, "Depth": 3, "AddrWidth": 29, "Sides": 2, "Enables": 8},
        {"Width": 8, "Depth": 9, "AddrWidth": 4},
    )
]
SIZES = [(64, 8), (3, 64), (1, 12)]


@pytest.mark.rtl
@pytest.mark.parametrize(("inward", "outward"), SIZES)
def test_kernel_stream(inward: int, outward: int) -> None:
    parameters = {"BytesIn": inward, "BytesOut": outward}
    Bench("stream_bench", FILES, [HERE / "stream_bench.sv"], parameters).run("cocotb_kernel_stream", HERE)


@pytest.mark.rtl
@pytest.mark.parametrize(
    ("bench", "module"),
    [(RUN, "cocotb_kernel_run"), (POKE, "cocotb_kernel_poke"), (SCALARS, "cocotb_kernel_scalars")]
    + [(each, "cocotb_kernel_array") for each in ARRAYS],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_runs_a_kernel(bench: Bench, module: str) -> None:
    bench.run(module, HERE)


MISTAKES = [
    (
        RUN,
        "run",
        Mutation("an end without the streams", "kernel_run.sv", "|| busy_i == '0) && (said", "|| 1'b1) && (said"),
    ),
    (
        Bench("stream_bench", FILES, [HERE / "stream_bench.sv"], {"BytesIn": 3, "BytesOut": 64}),
        "stream",
        Mutation("thrown away is taken", "kernel_stream_in.sv", "!stop_i && !stopped_q", "!stop_i"),
    ),
    (RUN, "run", Mutation("a start without its reset", "kernel_run.sv", "ResetAtStart ? Clear : Go", "Go")),
    (RUN, "run", Mutation("a reset amid an access", "kernel_run.sv", "if (kernel_quiet_i) kernel", "kernel")),
    (RUN, "run", Mutation("a stall that movement does not end", "kernel_run.sv", "moves_i || step_q", "step_q")),
    (RUN, "run", Mutation("an event that is not enabled", "kernel_run.sv", "isr_q | ier_q;", "2'b11;")),
    (POKE, "poke", Mutation("an answer to another", "kernel_poke.sv", "rvalid_i && !own_read_q", "rvalid_i")),
    (POKE, "poke", Mutation("a write amid another's", "kernel_poke.sv", "!other_write_q && !awvalid_i", "!awvalid_i")),
    (POKE, "poke", Mutation("an end that is another bit", "kernel_poke.sv", "(rdata_i & DoneMask)", "rdata_i")),
    (
        POKE,
        "poke",
        Mutation("a stop that is not heard", "kernel_poke.sv", "if (stop_i && !own_write_q &&", "if (1'b0 &&"),
    ),
    (
        SCALARS,
        "scalars",
        Mutation("a result at any time", "kernel_scalars.sv", "if (take_i[i]) results_q", "results_q"),
    ),
    (SCALARS, "scalars", Mutation("a byte without its strobe", "kernel_scalars.sv", " && wstrb_i[lane]", "")),
    (SCALARS, "scalars", Mutation("bits that there are not", "kernel_scalars.sv", " & Kept[i][8*lane+:8]", "")),
    (
        ARRAYS[2],
        "array",
        Mutation("a byte beyond the last element", "kernel_array.sv", "wstrb_i & exists", "wstrb_i"),
    ),
    (
        RUN,
        "run",
        Mutation("a run that is not told", "kernel_run.sv", "running_o = step_q != Rest", "running_o = step_q == Run"),
    ),
    (
        ARRAYS[0],
        "array",
        Mutation("a window open in a run", "kernel_array.sv", "known_q <= !running_i &&", "known_q <="),
    ),
    (
        ARRAYS[0],
        "array",
        Mutation("an element beyond the last", "kernel_array.sv", "we[i] = there ? bytes : '0", "we[i] = bytes"),
    ),
    (
        ARRAYS[0],
        "array",
        Mutation(
            "another element of a row", "kernel_array.sv", "dout[i] >> (at_q * Element)", "dout[i] >> (at * Element)"
        ),
    ),
    (
        ARRAYS[1],
        "array",
        Mutation(
            "a byte without its enable", "kernel_array.sv", "Bytes'(we_i[i]) <<", "Bytes'({Enables{|we_i[i]}}) <<"
        ),
    ),
    (
        ARRAYS[1],
        "array",
        Mutation("another word of a row", "kernel_array.sv", "lane_q <= 32'(word) % WordsPerRow", "lane_q <= 0"),
    ),
    (
        ARRAYS[2],
        "array",
        Mutation(
            "a kernel's access between runs",
            "kernel_array.sv",
            "if (i == 0 && !running_i)",
            "if (i == 0 && !en_i[i] && !running_i)",
        ),
    ),
    (
        ARRAYS[2],
        "array",
        Mutation("a read that does not stay", "kernel_array.sv", "en[i] = running_i && en_i[i];", "en[i] = running_i;"),
    ),
]


@pytest.mark.rtl
@pytest.mark.mutant
@pytest.mark.parametrize(("bench", "module", "mistake"), MISTAKES, ids=lambda value: getattr(value, "name", ""))
def test_a_mistake_in_a_run_is_found(bench: Bench, module: str, mistake: Mutation, tmp_path: Path) -> None:
    with pytest.raises(BenchFailed):
        bench.broken(mistake, tmp_path).run(f"cocotb_kernel_{module}", HERE)
