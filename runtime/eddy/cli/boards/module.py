# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""`eddy module new|fuse|check`: begin a reconfigurable module, and hold one against the slot contract."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Optional

import typer

from eddy.cli.support.installed import not_installed
from eddy.cli.support.options import AsJson
from eddy.cli.support.output import allowed_words, print_json
from eddy.core.errors import Conflict, EddyError, InvalidRequest, NotFound
from eddy.host import distribution

if TYPE_CHECKING:
    from eddy_sim.modcheck.finding import Finding

app = typer.Typer(help="Write a reconfigurable module, and check it against the slot contract.", no_args_is_help=True)

NAME = re.compile(r"[a-z][a-z0-9_]{0,47}")
SKELETON = Path(__file__).parents[1] / "skeleton"
"""A whole module of this name, as it lies in the source tree; a new one is this under another name."""
_BLOCK = re.compile(r"^\s*(?:module|package|interface)\s+(?:automatic\s+)?(\w+)", re.MULTILINE)


def source_root(start: Path) -> Path:
    """The source tree that `EDDY_TREE` names; or else the nearest one upwards of a folder, or the one that Eddy has."""
    for folder in () if distribution.named_tree() else (start, *start.parents):
        if (folder / distribution.MARK).is_file():
            return folder
    return distribution.source_tree()


def tree_to_write(start: Path, given: Path | None) -> Path:
    """Where files of a module go: what was given, or the source tree around a folder.

    Raises:
        InvalidRequest: The source tree is what the package ships, where nobody's own files go.
    """
    folder = (given or source_root(start)).resolve()
    if folder == distribution.SHIPPED:
        raise InvalidRequest(
            "no Eddy source tree here; change into one, or make one with `eddy module tree DIR`", field="root"
        )
    return folder


def create(name: str, root: Path, source: Path) -> list[Path]:
    """Write a new module's files under `root`; they use the wrapper in `source`.

    Raises:
        InvalidRequest: The name is not one for a module.
        Conflict: A file of it exists; nothing was written.
    """
    check_name(name, source)
    wrapper = os.path.relpath(source / distribution.MARK, root / "hw/ip" / name)
    texts: dict[str, str | bytes] = {}
    for path in sorted(path for path in SKELETON.rglob("*") if path.is_file() and path.suffix != ".pyc"):
        text = path.read_text(encoding="utf-8").replace("../hls_wrapper/hls_wrapper.f", wrapper)
        texts[str(path.relative_to(SKELETON)).replace(SKELETON.name, name)] = text.replace(SKELETON.name, name)
    return write_new(root, texts, name)


def check_name(name: str, source: Path) -> None:
    """Whether a new module can have this name, and its core this name with `_core`.

    Raises:
        InvalidRequest: It is not one for a module, or a word of the language.
        Conflict: A block of the source tree has it.
    """
    # Only who begins a module needs these.
    from pygments.lexers.hdl import SystemVerilogLexer
    from pygments.token import Token

    allowed = "small letters, digits and underscores, at most 48, of which the first is a letter"
    if not NAME.fullmatch(name):
        raise InvalidRequest(f"{name!r} is no module name", field="name", allowed=allowed)
    # A word after it, because some keywords are told from names by what follows.
    if next(iter(SystemVerilogLexer().get_tokens(f"{name} x")))[0] is not Token.Name:
        raise InvalidRequest(f"{name!r} is a keyword of SystemVerilog; choose another name", field="name")
    for path in sorted((source / "hw/ip").rglob("*.sv")):
        taken = {name, f"{name}_core"} & set(_BLOCK.findall(path.read_text(encoding="utf-8")))
        if taken:
            raise Conflict(f"{path} holds a block {min(taken)}; choose another name", field="name")


def write_new(root: Path, texts: Mapping[str, str | bytes], name: str) -> list[Path]:
    """Write files under `root`, none of which is there yet.

    Raises:
        Conflict: One is; nothing was written.
    """
    files = {root / path: text for path, text in texts.items()}
    taken = [path for path in files if path.exists()]
    if taken:
        raise Conflict(f"{taken[0]} exists; choose another name or remove it", field="name")
    for path, text in files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return list(files)


def fail(error: EddyError, as_json: bool) -> typer.Exit:
    """Say what an error says, and exit 2."""
    if as_json:
        print(json.dumps({"code": error.code, "detail": error.message, **error.details}, default=str), file=sys.stderr)
    else:
        typer.echo(f"eddy: {error.message}{allowed_words(error)}", err=True)
    return typer.Exit(2)


@app.command()
def tree(
    folder: Annotated[Path, typer.Argument(help="Folder to make; it must not be there yet.")], as_json: AsJson = False
) -> None:
    """Copy the hardware's sources and the modules into a folder of your own, to add modules to without a clone."""
    made = folder.expanduser().resolve()
    try:
        if made.exists():
            raise Conflict(f"{made} exists; name a folder that does not", field="folder")
        for name in ("hw", "bitstreams"):
            shutil.copytree(distribution.source_tree() / name, made / name)
    except EddyError as error:
        raise fail(error, as_json) from error
    if as_json:
        print_json({"tree": str(made)})
        return
    typer.echo(f"Now: cd {shlex.quote(str(folder))}; export EDDY_TREE=$PWD; eddy module new NAME")


@app.command()
def new(
    name: Annotated[str, typer.Argument(help="Name of the module and of its top.")],
    root: Annotated[Path | None, typer.Option(help="Where to write; the source tree by default.")] = None,
    as_json: AsJson = False,
) -> None:
    """Write a module that compiles and passes the check: RTL, file list, manifest, bench, README."""
    try:
        source = source_root(Path.cwd())
        folder = tree_to_write(Path.cwd(), root)
        files = create(name, folder, source)
    except EddyError as error:
        raise fail(error, as_json) from error
    if as_json:
        print_json({"module": name, "files": [str(path) for path in files]})
        return
    for path in files:
        typer.echo(f"  {path.relative_to(folder)}")
    typer.echo(f"Now write your arithmetic in hw/ip/{name}/rtl/{name}_core.sv, then: eddy module check {name}")


@app.command()
def fuse(
    stages: Annotated[list[str], typer.Argument(help="Modules in the order in which words pass through them.")],
    name: Annotated[str, typer.Option(help="Name of the fused module.")],
    bind: Annotated[
        Optional[list[str]],  # noqa: UP045 (Typer on 3.10)
        typer.Option(help="NAME=EXPRESSION: a scalar that is no argument, as an expression over the others."),
    ] = None,
    root: Annotated[Path | None, typer.Option(help="Where to write; the source tree by default.")] = None,
    as_json: AsJson = False,
) -> None:
    """Build one module of several, each streaming into the next: RTL, file list, manifest, README."""
    from eddy.packages.fuse import fuse as fused_files
    from eddy.packages.fuse import read_stage

    try:
        source = source_root(Path.cwd())
        check_name(name, source)
        pairs = [each.partition("=") for each in bind or []]
        if any(not separator for _, separator, _ in pairs):
            raise InvalidRequest("--bind takes NAME=EXPRESSION", field="bind", allowed="NAME=EXPRESSION")
        found = [read_stage(find_manifest(stage, source)) for stage in stages]
        folder = tree_to_write(Path.cwd(), root)
        files = fused_files(name, found, {scalar: value for scalar, _, value in pairs}, folder)
        written = write_new(folder, files, name)
    except EddyError as error:
        raise fail(error, as_json) from error
    if as_json:
        print_json({"module": name, "files": [str(path) for path in written]})
        return
    for path in written:
        typer.echo(f"  {path}")
    typer.echo(f"Now: eddy module check {name}")


def find_manifest(module: str, root: Path) -> Path:
    """The manifest of a module given by name, folder or file.

    Raises:
        NotFound: There is none; says what there is.
    """
    for path in (Path(module), Path(module) / "manifest.yaml", root / "bitstreams" / module / "manifest.yaml"):
        if path.is_file():
            return path
    names = sorted(path.parent.name for path in (root / "bitstreams").glob("*/manifest.yaml"))
    raise NotFound(f"no module {module}", field="module", allowed=names)


@app.command()
def check(
    module: Annotated[str, typer.Argument(help="Name of a module, or path of a manifest.")],
    record: Annotated[
        bool,
        typer.Option(
            "--record/--no-record",
            help="Write the result next to the manifest: a server gives jobs no module that has no check on record.",
        ),
    ] = True,
    as_json: AsJson = False,
) -> None:
    """Build a module and check it against the slot contract; exit 1 where it fails a check."""
    from eddy.packages.manifests import load_module_manifest

    try:
        path = find_manifest(module, source_root(Path.cwd()))
        module = load_module_manifest(path).module
        findings, took_s = run_checks(path, record, as_json)
    except EddyError as error:
        raise fail(error, as_json) from error
    passed = all(finding.passed for finding in findings)
    if as_json:
        print_json({"module": module, "passed": passed, "processor_s": round(took_s, 1), "checks": findings})
    else:
        print_checks(module, findings, took_s)
    raise typer.Exit(0 if passed else 1)


def print_checks(module: str, findings: Sequence[Finding], took_s: float) -> None:
    """Show what checks found, as a table."""
    from rich.console import Console
    from rich.table import Table

    passed = all(finding.passed for finding in findings)
    table = Table("check", "", "what, or why not", title=f"{module}: {'passed' if passed else 'failed'}")
    for finding in findings:
        mark = "[green]pass[/]" if finding.passed else "[red]FAIL[/]" if finding.shown else "[yellow]not shown[/]"
        said = f"{finding.what}; unusual: {finding.unusual}" if finding.unusual else finding.what
        table.add_row(finding.check, mark, said if finding.passed else finding.reason)
    Console().print(table)
    typer.echo(f"eddy: the check took {took_s:.0f} s of processor", err=True)


def run_checks(manifest: Path, record: bool, quiet: bool) -> tuple[list[Finding], float]:
    """Run the checks; what they found, and the seconds of processor they took.

    The simulator comes with an extra, so its absence is said and not a traceback.
    """
    try:
        from eddy_sim.modcheck.runner import check_module, processor_s
    except ModuleNotFoundError as missing:
        raise not_installed(missing, "module") from missing

    def progress(what: str) -> None:
        if not quiet:
            typer.echo(f"eddy: {what} ({processor_s() - before_s:.0f} s of processor so far)", err=True)

    before_s = processor_s()
    return check_module(manifest, record, progress), processor_s() - before_s
