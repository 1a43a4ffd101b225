# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""`eddy submit --as-array` and `eddy array`: jobs that are submitted, shown and cancelled together."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any

import typer

from eddy.cli.support.local import Answer, Client, asks_server
from eddy.cli.support.output import print_status
from eddy.core.errors import InvalidRequest

if TYPE_CHECKING:
    from eddy.cli.support.inputs import Inputs
    from eddy.client.calls.job_array import JobArray

app = typer.Typer(help="Jobs that were submitted together: show and cancel them.", no_args_is_help=True)
AsArray = Annotated[bool, typer.Option("--as-array", help="A job for each item, under one id, instead of a batch.")]
ArrayId = Annotated[int, typer.Argument(metavar="ID", min=1, help="Id of the array.")]


def array_of(client: Client, application: str, given: Inputs, **fields: Any) -> JobArray:
    """Submit a job for each item of the inputs; constants are those of all."""
    shapes = {buffer.name: buffer.shape for buffer in client.buffers(application) if buffer.role == "input"}
    try:
        items = {name: values.reshape((-1, *shapes[name])) for name, values in given.arrays.items() if name in shapes}
    except ValueError as failure:
        raise InvalidRequest(f"An input has another shape than the application's: {failure}.", field="input") from None
    counts = {name: len(values) for name, values in items.items()}
    if len(set(counts.values())) > 1:
        message = f"--as-array takes as many items of each input; there are {counts}."
        raise InvalidRequest(message, field="input")
    shared = {name: values for name, values in given.arrays.items() if name not in items}
    each = [
        {**shared, **{name: values[place : place + 1] for name, values in items.items()}}
        for place in range(max(counts.values(), default=1))
    ]
    return client.submit_array(application, each, batch=1, **fields)


def wait_for_array(array: JobArray) -> None:
    """Wait for all of them; an interrupted wait leaves them to go on, and says so."""
    try:
        array.wait()
    except KeyboardInterrupt:
        print_status(f"eddy: array {array.id} continues; `eddy array show {array.id}` shows it, `cancel` ends it")
        raise typer.Exit(130) from None


def save_array(client: Client, array: JobArray, folder: Path) -> dict[str, str]:
    """Write every output as `<folder>/<name>-<index>.npy`; answers name to path."""
    import numpy as np

    folder.mkdir(parents=True, exist_ok=True)
    files = {}
    for index, job in enumerate(array.jobs()):
        for name, values in client.outputs(job.id).items():
            name = f"{name}-{index}"
            np.save(folder / f"{name}.npy", values)
            files[name] = str(folder / f"{name}.npy")
    return files


def show_array(data: Mapping[str, Any], files: Mapping[str, str] = MappingProxyType({})) -> None:
    """Print an array for people."""
    counts = ", ".join(f"{jobs} {state}" for state, jobs in data["counts"].items() if jobs)
    print(f"array {data['id']}: {data['size']} jobs: {counts}")
    for name, file in files.items():
        print(f"{name}: {file}")


@app.command("show")
@asks_server
def show(client: Client, array: ArrayId) -> Answer:
    """How many of its jobs are in which state; `eddy jobs --array ID` lists them."""
    found = client.show_array(array)
    yield found
    show_array(found)


@app.command("wait")
@asks_server
def wait(client: Client, array: ArrayId) -> Answer:
    """Wait until all of its jobs have succeeded."""
    handle = client.array(array)
    wait_for_array(handle)
    yield handle.data
    show_array(handle.data)


@app.command("cancel")
@asks_server
def cancel(client: Client, array: ArrayId) -> Answer:
    """Cancel all of its jobs that have not ended."""
    found = client.cancel_array(array)
    yield found
    show_array(found)
