# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""`eddy gpu`: programs on a simulated GPU cluster, without a board, a shell or a hypervisor."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from eddy.cli.support.options import AsJson
from eddy.cli.support.output import FAILED, errors_in_one_line, print_json, print_status

if TYPE_CHECKING:
    from eddy_sim.gpu.run import RunResult

MAX_CYCLES = 50_000_000

app = typer.Typer(help="Run programs on a simulated GPU cluster.", no_args_is_help=True)

Elf = Annotated[Path, typer.Argument(metavar="PROGRAM.elf", help="ELF file for 32-bit RISC-V.")]
Cores = Annotated[int, typer.Option("--cores", min=1, max=8, help="Cores of the cluster.")]
Warps = Annotated[int, typer.Option("--warps", min=1, max=16, help="Warps a core.")]
Threads = Annotated[int, typer.Option("--threads", min=1, max=16, help="Lanes of a warp.")]
NoFpu = Annotated[bool, typer.Option("--no-fpu", help="Without floating point: its instructions are illegal.")]
L2 = Annotated[int, typer.Option("--l2", metavar="BYTES", help="Second-level cache that the cores share; 0: none.")]
AllCores = Annotated[bool, typer.Option("--all-cores", help="Start every core, not core 0 alone.")]
MaxCycles = Annotated[int, typer.Option("--max-cycles", min=1, help="End the run after this many cycles.")]
Latency = Annotated[int, typer.Option("--latency", min=1, max=10_000, help="Latency of memory, in cycles.")]


@app.callback()
def _group() -> None:
    """Without this a group of one command would be that command."""


@app.command()
def run(
    program: Elf,
    cores: Cores = 1,
    warps: Warps = 4,
    threads: Threads = 4,
    no_fpu: NoFpu = False,
    l2: L2 = 0,
    all_cores: AllCores = False,
    max_cycles: MaxCycles = MAX_CYCLES,
    latency: Latency = 20,
    as_json: AsJson = False,
) -> None:
    """Run a program on the cluster's RTL until it ends; print its exit code, cycles and counters.

    Warp 0, lane 0 of core 0 starts at the entry. The program ends when every warp has, or when it writes tohost or the
    exit register. The exit status is 0 if the program's exit code is.
    """
    with errors_in_one_line(as_json):
        from eddy_sim.gpu.cluster_build import Shape
        from eddy_sim.gpu.elf import read_elf
        from eddy_sim.gpu.run import run_program

        shape = Shape(cores=cores, warps=warps, threads=threads, fpu=not no_fpu, l2_bytes=l2)
        elf = read_elf(program)
        result = run_program(
            elf, shape, max_cycles=max_cycles, all_cores=all_cores, latency=latency, progress=print_status
        )
    if as_json:
        print_json(result)
    else:
        _print(result)
    if result.exit_code:
        raise typer.Exit(FAILED)


def _print(result: RunResult) -> None:
    from eddy_sim.gpu.run import CAUSES

    print(result.console, end="" if result.console.endswith("\n") or not result.console else "\n")
    print(f"exit code            {result.exit_code} (ended by {result.ended_by})")
    print(f"cycles               {result.cycles}")
    print(f"instructions         {result.instructions}")
    print(f"total active cycles  {result.total_active_cycles}")
    for lanes, cycles in enumerate(result.cycle_thread, 1):
        print(f"{f'CYCLE_THREAD_{lanes}':<20} {cycles}")
    for fault in result.faults:
        cause = CAUSES.get(fault.cause, f"cause {fault.cause}")
        print(f"core {fault.core} stopped: {cause}, pc {fault.pc:#010x}, value {fault.value:#010x}")
