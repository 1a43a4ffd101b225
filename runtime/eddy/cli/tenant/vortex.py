# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""`eddy vortex`: hosts written for the driver calls of Vortex, and the images that they start."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from eddy.cli.support.options import AsJson
from eddy.cli.support.output import errors_in_one_line, print_exports, print_json, print_status
from eddy.core.units import format_bytes

app = typer.Typer(help="Hosts for the driver calls of Vortex, on this server's clusters.", no_args_is_help=True)


@app.callback()
def vortex() -> None:
    """Hosts for the driver calls of Vortex, on this server's clusters."""


@app.command()
def env(as_json: AsJson = False) -> None:
    """Print what a shell needs to compile, link and run Vortex hosts: eval "$(eddy vortex env)"."""
    from eddy.opencl.vortex.environment import environment

    with errors_in_one_line(as_json):
        found = environment()
    print_exports(found, as_json)


@app.command()
def build(
    sources: Annotated[list[Path], typer.Argument(help="C, C++ and assembly; one has main.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="The image.")] = Path("kernel.vxbin"),
    option: Annotated[
        list[str] | None, typer.Option("--option", help="For the compiler, as -DNAME; again for more.")
    ] = None,
    soft: Annotated[bool, typer.Option("--soft", help="For cores without a floating-point unit.")] = False,
    as_json: AsJson = False,
) -> None:
    """Compile and link an image that a Vortex host can start."""
    from eddy.host.files import translate_os_errors
    from eddy.opencl.vortex.build import build_image

    with errors_in_one_line(as_json):
        image = build_image(sources, option or (), fpu=not soft)
        with translate_os_errors(out):
            out.write_bytes(image)
    if as_json:
        print_json({"image": str(out), "bytes": len(image)})
    else:
        print_status(f"{out}: {format_bytes(len(image))}")
