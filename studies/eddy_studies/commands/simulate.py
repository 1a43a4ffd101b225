# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""`eddy simulate`: a sequence of events against a board of slots, in virtual time, under any dispatch policy."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from eddy.cli.support.options import AsJson, one_of
from eddy.cli.support.output import errors_in_one_line, print_json, write_text
from eddy.core.units import format_duration

POLICY_NAMES = ("eddy", "nimblock", "prema", "round_robin", "fcfs", "exclusive")
VARIANTS = ("thesis", "published", "artefact")
LATENCIES = ("estimate", "measured")
LOADS = ("blocking", "async")


def simulate(
    apps: Annotated[Path, typer.Option(help="Task graphs and load times: a JSON file.")],
    events: Annotated[Path, typer.Option(help="What arrives when: a JSON file.")],
    policy: Annotated[str, typer.Option(help=f"One of {', '.join(POLICY_NAMES)}.", callback=one_of(POLICY_NAMES))],
    slots: Annotated[int | None, typer.Option(min=1, help="Number of slots; else what the applications say.")] = None,
    variant: Annotated[
        str,
        typer.Option(
            help="As the thesis has the policy, as its authors' program has it, or that program in its polling loop.",
            callback=one_of(VARIANTS),
        ),
    ] = "thesis",
    latency: Annotated[
        str, typer.Option(help="Actual latencies of items; policies see estimates.", callback=one_of(LATENCIES))
    ] = "measured",
    loads: Annotated[
        str, typer.Option(help="Whether the hypervisor waits for a load.", callback=one_of(LOADS))
    ] = "blocking",
    reuse: Annotated[
        bool | None,
        typer.Option(
            help="Whether a module left in a slot is used without a load; by default with asynchronous loads."
        ),
    ] = None,
    load_ms: Annotated[
        float | None, typer.Option(min=0.0, help="Time of every load; by default the measured one.")
    ] = None,
    port_ms: Annotated[
        float | None, typer.Option(min=0.0, help="The configuration port's part of a load; by default the file's.")
    ] = None,
    near_images: Annotated[
        int, typer.Option(min=0, help="Images the board's memory holds, read ahead while the storage is idle.")
    ] = 0,
    idle_s: Annotated[
        float, typer.Option(min=0.0, help="Seconds the board was up before the first event, reading images.")
    ] = 0.0,
    own_tenants: Annotated[bool, typer.Option(help="Whether every event is another tenant's.")] = False,
    scrub: Annotated[bool, typer.Option(help="Whether a reset makes modules clean for another tenant.")] = False,
    fuse: Annotated[bool, typer.Option(help="Whether jobs may run on fused tasks, where the file has them.")] = False,
    out: Annotated[Path | None, typer.Option(help="Where to write events and trace as JSON.")] = None,
    as_json: AsJson = False,
) -> None:
    """Run a sequence of events under a dispatch policy, in virtual time."""
    import json

    from eddy_studies.nimblock.policies import make_player
    from eddy_studies.nimblock.run import BoardSetting, report, run
    from eddy_studies.nimblock.workload import parse_events, parse_workload, read_json

    with errors_in_one_line(as_json):
        workload = parse_workload(read_json(apps), slots, load_ms)
        sequence = parse_events(read_json(events), workload)
        blocking = loads == "blocking"
        setting = BoardSetting(
            latency == "measured",
            blocking,
            not blocking if reuse is None else reuse,
            near_images=near_images,
            idle_s=idle_s,
            own_tenants=own_tenants,
            scrub=scrub,
            fuse=fuse,
            port_s=None if port_ms is None else port_ms * 1e-3,
        )
        result = run(workload, sequence, make_player(policy, variant), setting)
        document = report(workload, sequence, result, setting.measured)
        if out is not None:
            write_text(out, json.dumps(document) + "\n")
    if as_json:
        print_json(document)
    else:
        _summary(policy, document["events"])


def _summary(policy: str, rows: list[dict[str, Any]]) -> None:
    if not rows:
        print(f"{policy}: no events")
        return
    responses = sorted(row["response_ms"] * 1e-3 for row in rows)
    print(
        f"{policy}: {len(rows)} events, the last ends at "
        f"{format_duration(max(row['completion_ms'] for row in rows) * 1e-3)}"
    )
    print(f"mean response  {format_duration(sum(responses) / len(responses))}")
    print(f"median         {format_duration(responses[len(responses) // 2])}")
    print(f"longest        {format_duration(responses[-1])}")
    print(f"preemptions    {sum(row['preemptions'] for row in rows)}")
