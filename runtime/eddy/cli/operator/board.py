# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""`eddy bitstreams`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from eddy.cli.support.installed import not_installed
from eddy.cli.support.options import AsJson, default, option
from eddy.cli.support.output import Column, errors_in_one_line, print_json, print_status, table
from eddy.core.units import format_bytes


def bitstreams(profile: Annotated[str, option("profile")] = default("profile"), as_json: AsJson = False) -> None:
    """List the simulated board's bitstream files, built where missing."""
    with errors_in_one_line(as_json):
        try:
            from eddy_sim.design.bitstreams import list_or_build
        except ModuleNotFoundError as missing:
            raise not_installed(missing, "sim") from missing
        document = list_or_build(profile, progress=lambda text: print_status(f"eddy: {text}")).to_json()
    if as_json:
        print_json(document)
        return
    rows = [
        {**partial, "name": Path(partial["file"]).name, "size": format_bytes(partial["bytes"])}
        for partial in document["partials"]
    ]
    columns = (
        Column("Slot", "slot", right=True),
        Column("Module", "module"),
        Column("Size", "size", right=True),
        Column("File", "name"),
    )
    print(document["overlay"])
    table("", columns, rows)
