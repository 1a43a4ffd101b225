# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""`eddy bitstreams`; `eddy import`, `eddy export`: packages of `/lib/firmware/xilinx`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from eddy.cli.support.installed import not_installed
from eddy.cli.support.options import AsJson, default, option
from eddy.cli.support.output import FAILED, Column, errors_in_one_line, print_json, print_status, table
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


def import_package(
    package: Annotated[Path, typer.Argument(metavar="PACKAGE", help="As /lib/firmware/xilinx/NAME.")],
    images: Annotated[Path, typer.Option("--images", help="The board's folder of images, with its eddy.json.")],
    as_json: AsJson = False,
) -> None:
    """Bring what fits of a package (shell.json, accel.json) to a board; exit code 1 where anything does not.

    What does not fit is refused with its reason: another shell, part, slot or size, or no identity.
    """
    from eddy.board.pynq.firmware import import_package as bring

    with errors_in_one_line(as_json):
        outcomes = bring(package.expanduser(), images.expanduser())
    refused = [each for each in outcomes if each.refused]
    if as_json:
        print_json({"imported": [each for each in outcomes if not each.refused], "refused": refused})
    else:
        for each in outcomes:
            done = f"{each.module} for slot {each.slot}: {each.file}"
            print_status(f"eddy: refused {each.folder}: {each.refused}" if each.refused else f"eddy: imported {done}")
    if refused:
        raise typer.Exit(FAILED)


def export_package(
    package: Annotated[Path, typer.Argument(metavar="PACKAGE", help="Folder to write, as /lib/firmware/xilinx/NAME.")],
    images: Annotated[Path, typer.Option("--images", help="The board's folder of images, with its eddy.json.")],
    as_json: AsJson = False,
) -> None:
    """Write a board's images as a package (shell.json, accel.json, .bit.bin), for other loaders and other boards."""
    from eddy.board.pynq.firmware import export_package as write

    with errors_in_one_line(as_json):
        written = write(images.expanduser(), package.expanduser())
        if as_json:
            print_json({"exported": written})
        else:
            print_status(f"eddy: exported {len(written)} images to {package}")
