# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""`eddy kernel | log`: OpenCL C from a file, with arrays from files, on the board's GPU clusters."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any

import typer

from eddy.cli.support.job_filters import (
    After,
    AfterAny,
    AfterNotOk,
    EndLate,
    Labels,
    Retry,
    RetryOn,
    labels_of,
    retries_of,
)
from eddy.cli.support.local import Answer, Client, asks_server
from eddy.cli.support.options import JobId
from eddy.cli.support.output import escape_terminal, print_status
from eddy.cli.support.submission_options import with_options
from eddy.cli.tenant.jobs import DryRun, Out, Wait, save, show, tell_trial, wait_for, with_files
from eddy.core.errors import InvalidRequest
from eddy.core.records import KERNEL

if TYPE_CHECKING:
    pass

_KERNEL = re.compile(r"\b(?:__)?kernel\s+void\s+(\w+)\s*\(")
_BINARY = re.compile(rb"[\x00-\x08\x0e-\x1f\x7f]")
"""What no text has; from 0x80 on, some code pages have letters and quotes."""
_ATTRIBUTE = re.compile(r"__attribute__\s*\(\((?:[^()]|\([^()]*\))*\)\)")
ARGUMENTS = "FILE.npy, zeros:f4:1024, a number, 1,2,3,4 for a vector, local:BYTES or null"


@with_options(KERNEL)
@asks_server
def kernel(
    client: Client,
    file: Annotated[Path, typer.Argument(metavar="FILE.cl", help="OpenCL C.", exists=True, dir_okay=False)],
    size: Annotated[str, typer.Option("--global", "-g", metavar="NxM", help="Work-items: 1024, or 64x32.")],
    name: Annotated[str, typer.Option("--name", "-k", help="Kernel; default: the file's only one.")] = "",
    arguments: Annotated[
        list[str] | None, typer.Option("--arg", "-a", metavar="VALUE", help=f"In the kernel's order: {ARGUMENTS}.")
    ] = None,
    local: Annotated[str, typer.Option("--local", metavar="NxM", help="Work-group size.")] = "",
    offset: Annotated[str, typer.Option("--offset", metavar="NxM", help="What global ids count from.")] = "",
    defines: Annotated[
        list[str] | None, typer.Option("--define", "-D", metavar="NAME[=TEXT]", help="A macro; repeatable.")
    ] = None,
    headers: Annotated[
        list[Path] | None,
        typer.Option("--include", metavar="FILE.h", help="A header the source includes; repeatable."),
    ] = None,
    options: Annotated[
        str, typer.Option("--options", metavar="TEXT", help='Build options, such as "-DN=4 -cl-mad-enable".')
    ] = "",
    asked: Mapping[str, Any] = MappingProxyType({}),
    labels: Labels = None,
    after: After = None,
    afterany: AfterAny = None,
    afternotok: AfterNotOk = None,
    retries: Retry = 0,
    retry_on: RetryOn = None,
    end_late: EndLate = False,
    wait: Wait = True,
    dry_run: DryRun = False,
    out: Out = None,
) -> Answer:
    """Submit an OpenCL C kernel, and wait for it; arrays it wrote go to --out."""
    source = read_source(file)
    values = [argument(place, text) for place, text in enumerate(arguments or [])]
    includes = {header_name(path, file): read_source(path) for path in headers or []}
    made = client.kernel(source, name or only_kernel(source), macros(defines or []), includes=includes, options=options)
    shape: dict[str, Any] = {
        "local_size": sizes("local", local) if local else None,
        "offset": sizes("offset", offset) if offset else None,
        **asked,
    }
    if dry_run:
        yield from tell_trial(made.dry_run(sizes("global", size), *values, **shape))
        return
    job = made.launch(
        sizes("global", size),
        *values,
        **shape,
        labels=labels_of(labels),
        after=after or (),
        afterany=afterany or (),
        afternotok=afternotok or (),
        retries=retries_of(retries, retry_on),
        end_late=end_late,
    )
    print_status(f"job {job.id} submitted")
    if wait or out is not None:
        wait_for(job)
    files = save(client, job, out) if out is not None else {}
    text = job.log if job.ended else ""
    yield {**with_files(job.data, files), "log": text}
    show(job.data, files)
    print(escape_terminal(text), end="")


@asks_server
def log(client: Client, job: JobId) -> Answer:
    """Print what a kernel job printed."""
    text = client.log(job)
    shown_job = client.show(job) if not text else None
    yield {"job": job, "log": text}
    if shown_job is not None:
        print_status(_explain_silence(shown_job))
    else:
        print(escape_terminal(text), end="")


def _explain_silence(job: Mapping[str, Any]) -> str:
    """Why a job has printed nothing."""
    if job["kind"] != "kernel":
        return f"job {job['id']} runs the application {job['application']}; only kernels print: `eddy job {job['id']}`"
    return f"job {job['id']} has printed nothing" + ("" if job["ended_s"] is not None else "; it has not ended yet")


def header_name(header: Path, source: Path) -> str:
    """What a source calls a header: its way from the source's folder where it is below that, else its last name."""
    below = header.resolve()
    folder = source.resolve().parent
    return below.relative_to(folder).as_posix() if below.is_relative_to(folder) else header.name


def read_source(file: Path) -> str:
    """A file's text: UTF-8, otherwise byte for byte Latin-1, as older programs have in their comments."""
    try:
        data = file.read_bytes()
    except OSError as failure:
        raise InvalidRequest(f"{file} cannot be read: {failure.strerror}.", field="source") from failure
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as failure:
        if _BINARY.search(data):
            message = f"{file} is neither text in UTF-8 (byte {failure.start}) nor in Latin-1."
            raise InvalidRequest(message, field="source") from failure
        return data.decode("latin-1")


def argument(place: int, text: str) -> Any:
    """One `--arg` as the client takes it.

    Raises:
        InvalidRequest: It is none of the forms there are.
    """
    import numpy as np

    kind, _, rest = text.partition(":")
    if text.endswith(".npy") and not Path(text).is_file():
        raise InvalidRequest(f"--arg {place}: there is no file {text!r}.", field=f"arguments[{place}]")
    try:
        if text == "null":
            return None
        if kind == "local":
            return _local(int(rest))
        if kind == "zeros":
            dtype, _, shape = rest.partition(":")
            return np.zeros(sizes("arg", shape), np.dtype(dtype).newbyteorder("<"))
        if text.endswith(".npy"):
            return np.load(text, allow_pickle=False)
        if "," in text:
            return tuple(_number(part) for part in text.split(","))
        return _number(text)
    except (ValueError, TypeError, OSError, EOFError, MemoryError, OverflowError) as failure:
        message = f"--arg {place}: {text!r} is none of {ARGUMENTS}."
        if text.endswith(".npy"):
            why = failure.strerror if isinstance(failure, OSError) and failure.strerror else "it is no array of numbers"
            message = f"--arg {place}: {text!r} cannot be read: {why}."
        elif isinstance(failure, MemoryError):
            message = f"--arg {place}: {text!r} does not fit the memory of this machine."
        raise InvalidRequest(message, field=f"arguments[{place}]") from failure


def sizes(name: str, text: str) -> tuple[int, ...]:
    """``"64x32"`` to ``(64, 32)``.

    Raises:
        InvalidRequest: It is not one to three whole numbers.
    """
    parts = text.split("x")
    if len(parts) > 3 or not all(part.isdecimal() for part in parts):
        raise InvalidRequest(f"--{name} is {text!r}; give one to three whole numbers, such as 64x32.", field=name)
    return tuple(int(part) for part in parts)


def macros(texts: Sequence[str]) -> dict[str, str]:
    """``["N=4", "FAST"]`` to ``{"N": "4", "FAST": "1"}``, as compilers read them."""
    pairs = (text.partition("=") for text in texts)
    return {name: value if equals else "1" for name, equals, value in pairs}


def only_kernel(source: str) -> str:
    """The one kernel a source defines, as far as can be seen without compiling it.

    Raises:
        InvalidRequest: It defines none, or several.
    """
    names = list(dict.fromkeys(_KERNEL.findall(_ATTRIBUTE.sub(" ", source))))
    if len(names) != 1:
        found = f"The file has {len(names)} kernels, {', '.join(names)}: say which with --name."
        none = (
            "The file has no `kernel void NAME(...)`. If that is right, because a macro writes it, name it with --name;"
            " otherwise see whether this is the file you meant."
        )
        raise InvalidRequest(found if names else none, field="name", allowed=names)
    return str(names[0])


def _local(size: int) -> Any:
    from eddy.client.calls.kernel import Local

    return Local(size)


def _number(text: str) -> int | float:
    try:
        return int(text, 0)
    except ValueError:
        return float(text)
