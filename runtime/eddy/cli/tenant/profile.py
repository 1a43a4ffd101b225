# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""`eddy profile`: where a kernel's cycles went, next to what its cluster could do, and what would help."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from eddy.cli.support.local import Answer, Client, asks_server
from eddy.cli.support.output import print_status
from eddy.cli.support.roofline import Plane, Point, draw_svg, draw_text
from eddy.core.units import format_frequency

BAR = 40
"""Columns of a whole bar."""
WIDTH = 80

Target = Annotated[str, typer.Argument(metavar="JOB|SESSION", help="A kernel job's id, or a session's name.")]
Picture = Annotated[Path | None, typer.Option("--svg", metavar="FILE", help="Write the roofline as a picture there.")]


@asks_server
def profile(client: Client, target: Target, svg: Picture = None) -> Answer:
    """Say where the cycles of a kernel job or of a session's launches went, and what would help."""
    found = client.profile(int(target)) if target.isdigit() else client.profile_session(target)
    planes = planes_of(found["kernels"])
    if svg is not None:
        svg.write_text("".join(draw_svg(plane) for plane in planes[:1]) or NO_PICTURE, encoding="utf-8")
    yield found
    print("\n".join(lines_of(found, planes)))
    if svg is not None:
        print_status(f"roofline written to {svg}" if planes else f"{svg} is empty: nothing was counted")


NO_PICTURE = '<svg xmlns="http://www.w3.org/2000/svg"/>'


def planes_of(kernels: Sequence[Mapping[str, Any]]) -> list[Plane]:
    """A roofline for each kind of cluster, that of the first kernel first; kernels that touch no memory are on none."""
    by_module: dict[str, list[Mapping[str, Any]]] = {}
    for each in kernels:
        if each["roofline"] and each["roofline"]["operations_per_byte"]:
            by_module.setdefault(each["cluster"]["module"], []).append(each)
    return [
        Plane(
            [
                Point(each["kernel"], each["roofline"]["operations_per_byte"], each["roofline"]["operations_per_cycle"])
                for each in found
            ],
            found[0]["roofline"]["issue_bound"],
            found[0]["roofline"]["memory_bytes_per_cycle"],
        )
        for found in by_module.values()
    ]


def lines_of(found: Mapping[str, Any], planes: Sequence[Plane] | None = None) -> list[str]:
    """A profile for people, in 80 columns."""
    lines = [line for each in found["kernels"] for line in (*_kernel(each), "")]
    for plane in planes_of(found["kernels"]) if planes is None else planes:
        lines += [*draw_text(plane), ""]
    if not found["kernels"]:
        lines += ["no launch has ended yet", ""]
    lines.append("not known:")
    for each in found["unknown"]:
        lines += textwrap.wrap(each, WIDTH, initial_indent="  ", subsequent_indent="  ")
    return lines


def _kernel(each: Mapping[str, Any]) -> Iterator[str]:
    cluster = each["cluster"]
    yield f"{each['kernel']}: {each['launches']} launches, {each['core_seconds']:.3g} core-seconds"
    lanes = f"{cluster['cores']} cores, {cluster['warps']} warps of {cluster['threads']} lanes"
    yield f"  on {cluster['module']} ({lanes}, {format_frequency(cluster['clk_hz'])})"
    if each["shape"]:
        shape = each["shape"]
        sizes = ("x".join(map(str, shape[name])) for name in ("global_size", "local_size"))
        yield (
            "  range {} in groups of {}: {:.0%} of lanes filled, {} of {} warps of a core".format(
                *sizes, shape["lane_fill"], shape["core_warps"], cluster["warps"]
            )
        )
    if each["causes"] is None:
        yield "  cycles by cause: unknown"
        return
    yield f"  {each['cycles']} core cycles:"
    for cause, cycles in each["causes"].items():
        part = cycles / each["cycles"]
        yield f"  {cause:<12} {part:>6.1%} {'#' * round(part * BAR)}"
    for sentence in each["advice"]:
        yield from textwrap.wrap(sentence, WIDTH, initial_indent="  > ", subsequent_indent="    ")
