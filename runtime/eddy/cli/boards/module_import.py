# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""`eddy module import`: a kernel that others wrote becomes a module and an application."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Optional

import typer

from eddy.cli.boards.module import check_name, fail, print_checks, run_checks, source_root, write_new
from eddy.cli.support.options import AsJson
from eddy.cli.support.output import print_json
from eddy.core.errors import EddyError, InvalidRequest
from eddy.core.units import format_bytes
from eddy.host.distribution import install_hint

if TYPE_CHECKING:
    from eddy_sim.importing.package import ImportedKernel


def with_import(group: typer.Typer) -> typer.Typer:
    """Add the command to those of `eddy module`."""
    group.command("import")(import_module)
    return group


def import_module(
    source: Annotated[Path, typer.Argument(help="A folder that Vitis HLS exported, or one of RTL, or one source.")],
    top: Annotated[str, typer.Option(help="The kernel's top, where sources have several.")] = "",
    name: Annotated[str, typer.Option(help="Name of the module and the application; the kernel's own without.")] = "",
    values: Annotated[
        Optional[list[str]],  # noqa: UP045 (Typer on 3.10)
        typer.Option("--set", help="NAME=VALUE: a scalar, for the run that buffers are measured by. May be repeated."),
    ] = None,
    types: Annotated[
        Optional[list[str]],  # noqa: UP045 (Typer on 3.10)
        typer.Option("--type", help="NAME=DTYPE: element type of an argument's buffer, as <f4. May be repeated."),
    ] = None,
    start: Annotated[
        str, typer.Option(help="What starts it: PORT, OFFSET.BIT or REGISTER.BIT, with :pulse or :level behind.")
    ] = "",
    done: Annotated[
        str, typer.Option(help="What says that it is done: the same, with :low or :clear (written back) behind.")
    ] = "",
    registers: Annotated[
        Optional[list[str]],  # noqa: UP045 (Typer on 3.10)
        typer.Option("--register", help="NAME=OFFSET[:BITS][:out]: a register no source tells of. May be repeated."),
    ] = None,
    ends: Annotated[
        Optional[list[str]],  # noqa: UP045 (Typer on 3.10)
        typer.Option("--ends", help="STREAM=tlast or =length: what ends a stream from it. May be repeated."),
    ] = None,
    packets: Annotated[
        Optional[list[str]],  # noqa: UP045 (Typer on 3.10)
        typer.Option("--packet", help="STREAM=BYTES: TLAST after each so many bytes, for lines. May be repeated."),
    ] = None,
    ties: Annotated[
        Optional[list[str]],  # noqa: UP045 (Typer on 3.10)
        typer.Option(
            "--tie", help="PORT=VALUE: an input's value; first: one in a stream's first beat. May be repeated."
        ),
    ] = None,
    elements: Annotated[
        Optional[list[str]],  # noqa: UP045 (Typer on 3.10)
        typer.Option(help="ARRAY=N: how many elements a memory block has that no file tells of. May be repeated."),
    ] = None,
    parameters: Annotated[
        Optional[list[str]],  # noqa: UP045 (Typer on 3.10)
        typer.Option("--parameter", help="NAME=VALUE: a parameter of the top, a whole number. May be repeated."),
    ] = None,
    stall_cycles: Annotated[
        Optional[int],  # noqa: UP045 (Typer on 3.10)
        typer.Option(
            help="Cycles without a move after which a run is stuck: 65536 or 1 << 22 with streams, else 1 << 24.",
            min=256,
            max=1 << 24,
        ),
    ] = None,
    cycles: Annotated[
        int, typer.Option(help="How long the trial waits for a run where no scalar makes it shorter.", min=1)
    ] = 4_000_000,
    check: Annotated[bool, typer.Option(help="Check the module as well, so that jobs may run it.")] = True,
    root: Annotated[Path | None, typer.Option(help="Where to write; the source tree by default.")] = None,
    as_json: AsJson = False,
) -> None:
    """Make a module and an application of an HLS export or of RTL with AXI ports, with no line by hand.

    Of an overlay's `.hwh`, list what could go into a slot, and how.
    """
    try:
        if source.suffix == ".hwh":
            _list_overlay(source, as_json)
            return
        tree = source_root(Path.cwd())
        folder = (root or tree).resolve()
        said = {
            **{"name": name, "top": top, "start": start, "done": done, "stall_cycles": stall_cycles or 0},
            **{"cycles": cycles},
            **{"types": _pairs(types, "type"), "registers": _pairs(registers, "register")},
            **{"ends": _pairs(ends, "ends"), "ties": _pairs(ties, "tie")},
            **{"values": _numbers(values, "set"), "packets": _numbers(packets, "packet")},
            **{"elements": _numbers(elements, "elements"), "parameters": _numbers(parameters, "parameter")},
        }
        kernel = _import(source, said, as_json)
        check_name(kernel.name, tree)
        files = write_new(folder, _texts(kernel, folder), kernel.name)
        findings, took_s = (
            run_checks(folder / "bitstreams" / kernel.name / "manifest.yaml", True, as_json) if check else ([], 0.0)
        )
    except EddyError as error:
        raise fail(error, as_json) from error
    passed = all(finding.passed for finding in findings)
    if as_json:
        report = {**kernel.report(), "files": [str(path) for path in files], "checked": passed if check else None}
        print_json({**report, "checks": findings, "processor_s": round(took_s, 1)})
    else:
        _print(kernel, folder, files)
        if check:
            print_checks(kernel.name, findings, took_s)
    raise typer.Exit(0 if passed else 1)


def _list_overlay(source: Path, as_json: bool) -> None:
    from eddy_sim.importing.overlay import read_overlay

    blocks = read_overlay(source)
    if as_json:
        print_json({"blocks": [block.report() for block in blocks]})
        return
    for block in blocks:
        ports = {**block.memories, **block.controls, **block.streams}
        typer.echo(f"{'  ' if block.fits else '- '}{block.name} ({block.ip}): {block.how}")
        if block.fits:
            typer.echo("    " + ", ".join(f"{name}: {bits} bits" if bits else name for name, bits in ports.items()))


def _pairs(given: list[str] | None, field: str) -> dict[str, str]:
    pairs = [each.partition("=") for each in given or []]
    if any(not separator or not key or not value for key, separator, value in pairs):
        raise InvalidRequest(f"--{field} takes NAME=VALUE", field=field, allowed="NAME=VALUE")
    return {key: value for key, _, value in pairs}


def _numbers(given: list[str] | None, field: str) -> dict[str, int]:
    try:
        return {key: int(value, 0) for key, value in _pairs(given, field).items()}
    except ValueError as error:
        raise InvalidRequest(f"--{field} takes whole numbers: {error}", field=field, allowed="NAME=INTEGER") from error


def _import(source: Path, said: dict[str, Any], quiet: bool) -> ImportedKernel:
    """Read and try the kernel; the readers come with an extra, so their absence is said and is no traceback."""
    try:
        from eddy_sim.importing.kernel import KernelChoices, import_kernel
    except ImportError as error:
        raise InvalidRequest(
            f"importing a module needs the simulator ({error.name} is missing): {install_hint('module')}", field="extra"
        ) from error

    def progress(what: str) -> None:
        if not quiet:
            typer.echo(f"eddy: {what}", err=True)

    return import_kernel(source, KernelChoices(**said), progress)


def _texts(kernel: ImportedKernel, folder: Path) -> dict[str, str | bytes]:
    from eddy_sim.importing.package import package_texts

    return package_texts(kernel, folder)


def _print(kernel: ImportedKernel, folder: Path, files: list[Path]) -> None:
    for path in files:
        typer.echo(f"  {path.relative_to(folder)}")
    for argument in kernel.arguments:
        where = f"{argument.width} bits at {argument.offset:#x}"
        if argument.pointer:
            what = f"buffer of {format_bytes(argument.bytes)} ({argument.dtype}), {argument.access}"
        elif argument.element_bits:
            what = f"{'result' if argument.output else 'input'}, an array of {argument.element_bits}-bit elements"
        else:
            what = "result" if argument.output else f"scalar, {argument.value} in the trial"
        typer.echo(f"  {argument.name}: {what}; {where}")
    for note in kernel.notes:
        typer.echo(f"  note: {note}")
    typer.echo(
        f"{kernel.name}: {kernel.cycles} cycles in the trial. Now: eddy bitstreams, then eddy submit {kernel.name}"
    )
