# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""`eddy opencl`: the platform that OpenCL hosts load."""

from __future__ import annotations

import typer

from eddy.cli.support.options import AsJson
from eddy.cli.support.output import errors_in_one_line, print_exports

app = typer.Typer(help="Unmodified OpenCL programs on this server's clusters.", no_args_is_help=True)


@app.callback()
def opencl() -> None:
    """Unmodified OpenCL programs on this server's clusters."""


@app.command()
def env(as_json: AsJson = False) -> None:
    """Print what a shell needs so that OpenCL hosts find Eddy: eval "$(eddy opencl env)"."""
    from eddy.opencl.vendors import environment

    with errors_in_one_line(as_json):
        found = environment()
    print_exports(found, as_json)
