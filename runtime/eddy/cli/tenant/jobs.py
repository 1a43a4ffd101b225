# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""`eddy submit | jobs | job | cancel | result`."""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any

import typer

from eddy.cli.support import pictures
from eddy.cli.support.expected import estimate_line, trial_lines
from eddy.cli.support.job_filters import (
    After,
    AfterAny,
    AfterCorr,
    AfterNotOk,
    Before,
    EndLate,
    Labels,
    MaxRunning,
    OfApplication,
    OfArray,
    OfKernel,
    OfTenant,
    Retry,
    RetryOn,
    Since,
    Sort,
    WithLabel,
    labels_of,
    matches_filters,
    moment,
    retries_of,
)
from eddy.cli.support.local import Answer, Client, asks_server, connect
from eddy.cli.support.options import KEY, URL, AsJson, JobId, Key, Url, one_of
from eddy.cli.support.output import (
    errors_in_one_line,
    print_json,
    print_status,
    refuse_endless,
    say_damaged,
    table_width,
)
from eddy.cli.support.submission_options import with_options
from eddy.cli.tenant.job_arrays import AsArray, array_of, save_array, show_array, wait_for_array
from eddy.cli.tenant.job_list import FORMATS, default_columns, follow_list, known_columns, show_list
from eddy.core.jobs import JobState
from eddy.core.records import APPLICATION
from eddy.core.units import format_bytes, format_duration

if TYPE_CHECKING:
    from eddy.cli.support.inputs import Inputs
    from eddy.client import Client, Job

NOT_COMPUTED = "this board models times alone: nothing was computed, and outputs are zeros"
_STATES = [state.value for state in JobState]
DryRun = Annotated[
    bool, typer.Option("--dry-run", help="Check it, say what it would cost and when it would run; submit nothing.")
]
Wait = Annotated[bool, typer.Option("--wait/--no-wait", help="Wait until it has ended.")]


def _folder(value: Path | None) -> Path | None:
    """Refuse a file where a folder is wanted, before anything is submitted."""
    if value is not None and value.exists() and not value.is_dir():
        raise typer.BadParameter(f"{value} is a file; name a folder.")
    return value


Out = Annotated[
    Path | None,
    typer.Option(
        "--out", callback=_folder, help="Directory for the outputs: .npy files, and pictures if pictures went in."
    ),
]


@with_options(APPLICATION)
@asks_server
def submit(
    client: Client,
    application: Annotated[str, typer.Argument(help="Name; `eddy apps` lists them.")],
    inputs: Annotated[
        list[str] | None,
        typer.Option("--input", "-i", metavar="NAME=FILE", help="An input: .npy, a picture, or raw bytes; repeatable."),
    ] = None,
    batch: Annotated[
        int | None, typer.Option("--batch", "-b", min=1, help="Items; by default as many as the files hold.")
    ] = None,
    asked: Mapping[str, Any] = MappingProxyType({}),
    labels: Labels = None,
    after: After = None,
    afterany: AfterAny = None,
    afternotok: AfterNotOk = None,
    aftercorr: AfterCorr = None,
    retries: Retry = 0,
    retry_on: RetryOn = None,
    end_late: EndLate = False,
    as_array: AsArray = False,
    max_running: MaxRunning = None,
    wait: Wait = True,
    dry_run: DryRun = False,
    out: Out = None,
) -> Answer:
    """Submit a job, and wait for it."""
    from eddy.cli.support.inputs import gather

    beside: dict[str, Any] = {"labels": labels_of(labels), "after": after or (), "end_late": end_late}
    beside |= {"afterany": afterany or (), "afternotok": afternotok or (), "retries": retries_of(retries, retry_on)}
    if not as_array and (aftercorr or max_running is not None):
        raise typer.BadParameter("--aftercorr and --max-running apply to arrays: add --as-array.")
    app = client.app(application)
    given = gather(inputs or [], client.buffers(application), app["max_batch"])
    if not as_array:
        beside["labels"] = {**given.label, **beside["labels"]}
    if dry_run:
        yield from tell_trial(client.dry_run(application, given.arrays, batch=batch, **asked))
        return
    if as_array:
        beside |= {"aftercorr": aftercorr or (), "max_running": max_running}
        several = array_of(client, application, given, **asked, **beside)
        print_status(f"array {several.id} submitted: {len(several)} jobs")
        if wait or out is not None:
            wait_for_array(several)
        files = save_array(client, several, out) if out is not None else {}
        yield with_files(several.data, files)
        show_array(several.data, files)
        return
    job = client.submit(
        application,
        given.arrays,
        batch=batch,
        **asked,
        **beside,
    )
    print_status(f"job {job.id} submitted")
    if job.data["priority"] < asked.get("priority", 0):
        print_status(f"Your jobs have priority {job.data['priority']}; ask the operator for a higher bound.")
    if wait or out is not None:
        wait_for(job)
    files = save(client, job, out, given) if out is not None else {}
    yield with_files(job.data, files)
    show(job.data, files)


def tell_trial(trial: Mapping[str, Any]) -> Answer:
    """Answer with what a submission would be."""
    yield trial
    print("\n".join(trial_lines(trial)))


def jobs(
    state: Annotated[
        str | None, typer.Option("--state", callback=one_of(_STATES), help="Only jobs in this state.")
    ] = None,
    labels: WithLabel = None,
    application: OfApplication = None,
    kernel: OfKernel = None,
    array: OfArray = None,
    tenant: OfTenant = None,
    since: Since = None,
    before: Before = None,
    sort: Sort = "newest",
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, help="At most this many.")] = 20,
    watch: Annotated[bool, typer.Option("--watch", "-w", help="Then a line for each change of a job.")] = False,
    columns: Annotated[
        str, typer.Option("--columns", callback=known_columns, help="Columns to show, with commas.")
    ] = "",
    form: Annotated[
        str, typer.Option("--format", callback=one_of(FORMATS), help="table, csv, or lines of JSON.")
    ] = "table",
    url: Url = URL,
    key: Key = KEY,
    as_json: AsJson = False,
) -> None:
    """List your jobs. Ages are wall time, all other times the board's."""
    with errors_in_one_line(as_json), connect(url, key) as client:
        if as_json:
            refuse_endless("--watch", watch)
        found = client.jobs(
            state=state,
            limit=limit,
            tenant=tenant,
            application=application,
            kernel=kernel,
            array=array,
            labels=labels_of(labels),
            submitted_from=moment(since),
            submitted_before=moment(before),
            sort=sort,
        )
        say_damaged("jobs", found.damaged)
        chosen = columns.split(",") if columns else default_columns(found, table_width() if form == "table" else None)
        if as_json:
            print_json({"jobs": found})
        elif not found and not watch:
            print_status("no jobs")
        else:
            show_list(found, chosen, form)
        if watch:
            fits = matches_filters(tenant, application, kernel, labels_of(labels), array)
            follow_list(client, found, chosen, form, state, fits)


def job(
    job: JobId,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Print events until it has ended.")] = False,
    url: Url = URL,
    key: Key = KEY,
    as_json: AsJson = False,
) -> None:
    """Show a job: its times by cause, and why it failed."""
    from eddy.client.transport.stream import RESTARTED

    with errors_in_one_line(as_json), connect(url, key) as client:
        handle = client.job(job)
        if follow:
            # With --json, standard output has one value: the job as it ended.
            for event in handle.events():
                if event.kind == RESTARTED:
                    print_status(f"the events begin again: {event.data['detail']}")
                    continue
                print(event_line(event.kind, event.data), file=sys.stderr if as_json else None, flush=True)
            handle.refresh()
        if as_json:
            print_json(handle.data)
        else:
            show(handle.data, {})


@asks_server
def wait(client: Client, job: JobId, out: Out = None) -> Answer:
    """Wait for a job that was submitted before, and show it."""
    handle = client.job(job)
    wait_for(handle)
    files = save(client, handle, out) if out is not None else {}
    yield with_files(handle.data, files)
    show(handle.data, files)


@asks_server
def cancel(
    client: Client,
    job: JobId,
    wait: Annotated[bool, typer.Option("--wait", help="Return when it has ended.")] = False,
) -> Answer:
    """Cancel a job."""
    data = client.cancel(job)
    while wait and data["ended_s"] is None:
        data = client.show(job, wait_s=20.0)
    yield data
    when = _cancelled(data)
    print_status(f"job {job}: {data['state']}" + (f"; {when}" if when else ""))


@asks_server
def hold(
    client: Client,
    job: JobId,
    release: Annotated[bool, typer.Option("--release", help="Let it be removed when room is needed.")] = False,
) -> Answer:
    """Keep a job's outputs from being removed to make room."""
    data = client.let_go(job) if release else client.hold(job)
    yield data
    print_status(f"job {job}: " + (f"held by the {data['held_by']}" if data["held_by"] else "not held"))


@asks_server
def result(client: Client, job: JobId, out: Out = None) -> Answer:
    """Fetch a job's outputs, one .npy file each."""
    handle = client.job(job)
    files = save(client, handle, out or Path(f"job-{job}"))
    yield {"job": job, "outputs": files}
    for name, file in files.items():
        print(f"{name}: {file}")
    if not handle.computed:
        print_status(f"eddy: {NOT_COMPUTED}")
    if unchecked_note(handle.data):
        print_status(f"eddy: {unchecked_note(handle.data)}")


def wait_for(job: Job) -> None:
    """Wait with a progress bar; an interrupted wait leaves the job to go on, and says so."""
    from eddy.cli.support.progress import show_progress

    try:
        with show_progress() as watch:
            job.wait(on_change=watch)
    except KeyboardInterrupt:
        print_status(
            f"eddy: job {job.id} continues; `eddy job {job.id} --follow` shows it, `eddy cancel {job.id}` ends it"
        )
        raise typer.Exit(130) from None


def save(client: Client, job: Job, folder: Path, given: Inputs | None = None) -> dict[str, str]:
    """Write every output as `<folder>/<name>.npy`, and as a picture where pictures went in.

    Returns:
        Path by output; that of a picture by the picture's file name.
    """
    import numpy as np

    arrays = client.outputs(job.id)
    folder.mkdir(parents=True, exist_ok=True)  # what cannot be written ends the command with its file's name
    for name, values in arrays.items():
        np.save(folder / f"{name}.npy", values)
    drawn = pictures.save(given.sheets, arrays, given.shapes, folder) if given is not None and given.sheets else []
    return {name: str(folder / f"{name}.npy") for name in arrays} | {file.name: str(file) for file in drawn}


def with_files(data: Mapping[str, Any], files: Mapping[str, str]) -> Mapping[str, Any]:
    """A job or an array as an answer, with where its outputs were written."""
    return {**data, "files": dict(files)} if files else data


def show(data: Mapping[str, Any], files: Mapping[str, str]) -> None:
    """Print a job for people; `files` says where its outputs were written."""
    print("\n".join(lines_of(data, files)))


def lines_of(data: Mapping[str, Any], files: Mapping[str, str]) -> list[str]:
    """A job for people, a line each thing."""
    progress, error = data["progress"], data["error"]
    waits = ", ".join(f"{format_duration(value)} for {cause}" for cause, value in data["waiting"].items() if value)
    loads = (
        f"{count_noun(data['reconfigurations'], 'load')}, {data['reuses']} without a load,"
        f" {count_noun(data['preemptions'], 'preemption')}"
    )
    lines = [
        ("job", f"{data['id']}  {data['application']}  tenant {data['tenant']}  priority {data['priority']}"),
        ("state", f"{data['state']}  {progress['done']}/{progress['total']} items"),
        ("doing", data.get("doing", "")),
        ("estimate", estimate_line(data.get("estimate"), data["state"])),
        *((name, ", ".join(map(str, data.get(name, [])))) for name in ("after", "afterany", "afternotok")),
        ("labels", " ".join(f"{name}={value}" for name, value in data.get("labels", {}).items())),
        ("tries", _tries(data)),
        ("cancelled", _cancelled(data)),
        ("waiting", format_duration(data["waiting_s"]) + (f"  ({waits})" if waits else "")),
        ("reconfiguring", f"{format_duration(data['reconfiguring_s'])}  ({loads})"),
        ("running", format_duration(data["running_s"])),
        ("response", format_duration(data["response_s"])),
        *(line for kernel in (data["kernel"],) if kernel for line in _kernel_lines(kernel)),
        ("error", f"{error['cause']}: {error['message']}" if error else ""),
        ("outputs", ", ".join(files.values()) or ", ".join(data["outputs"])),
        ("note", "" if data.get("computed", True) else NOT_COMPUTED),
        ("note", unchecked_note(data)),
    ]
    return [f"{name:<14}{text}" for name, text in lines if text]


def unchecked_note(data: Mapping[str, Any]) -> str:
    """That a job ran on modules which nobody checked; "" where it did not."""
    modules = ", ".join(data.get("unchecked", ()))
    return f"no check is on record of {modules}: `eddy module check` tells what may be wrong" if modules else ""


def _tries(data: Mapping[str, Any]) -> str:
    retries = data.get("retries")
    return f"{data['retried']} of {retries['max']} retries, after {', '.join(retries['on'])}" if retries else ""


def _cancelled(data: Mapping[str, Any]) -> str:
    found = data.get("cancellation")
    if not found:
        return ""
    asked = time.strftime("%H:%M:%S", time.localtime(found["asked_unix_s"]))
    if found["effective_unix_s"] is None:
        return f"asked for at {asked}" + ("" if data["ended_s"] is None else f"; too late, it had {data['state']}")
    return f"asked for at {asked}, in effect {format_duration(found['effective_unix_s'] - found['asked_unix_s'])} later"


def _kernel_lines(kernel: Mapping[str, Any]) -> list[tuple[str, str]]:
    """What a kernel job's counters say, for people."""
    lines = [("kernel", f"{kernel['name']} on {kernel['cluster']}, {kernel['groups']} work-groups")]
    counters, fraction = kernel["counters"], kernel["parallel_fraction"]
    if counters:
        lines.append(("counters", f"{counters['cycles']} cycles, {counters['instructions']} instructions"))
        lines.append(("cycle_thread", " ".join(map(str, counters["cycle_thread"]))))
    if fraction is not None:
        lines.append(("parallel", f"fraction F = {fraction:.4f}"))
    if kernel["log_bytes"]:
        lines.append(("log", format_bytes(kernel["log_bytes"])))
    return lines


def count_noun(count: int, what: str) -> str:
    """``1 load``, ``2 loads``."""
    return f"{count} {what}{'' if count == 1 else 's'}"


def event_line(kind: str, data: Mapping[str, Any]) -> str:
    """An event for people."""
    where = [f"{name} {data[name]}" for name in ("slot", "task", "item") if name in data]
    what = [str(data[name]) for name in ("state", "detail") if data.get(name)]
    return f"{data['at_s']:>12.6f} s  {kind:<22}{'  '.join(what + where)}"
