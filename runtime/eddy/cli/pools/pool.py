# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""`eddy pool`: a pool of boards on NATS JetStream."""

from __future__ import annotations

import importlib.util
import socket
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from eddy.cli.pools import backups
from eddy.cli.support.installed import bitstreams_folder, not_installed
from eddy.cli.support.local import Answer, Client, asks_server, connect
from eddy.cli.support.options import KEY, URL, AsJson, AsJsonReady, JobId, Key, Url, default, option
from eddy.cli.support.output import FAILED, errors_in_one_line, print_json, print_status
from eddy.core.errors import EddyError, InvalidRequest, NotFound
from eddy.core.units import format_bits_rate, format_size
from eddy.host import logs, signals
from eddy.settings import SETTINGS

if TYPE_CHECKING:
    from eddy.pool.servers.admission import Place, PoolAdmission
    from eddy.pool.servers.nats_server import NatsServer

app = typer.Typer(help="A pool of boards: one head places jobs on many boards.", no_args_is_help=True)

app.command()(backups.backup)
app.command()(backups.restore)
DATA = "~/.local/share/eddy-pool"
Data = Annotated[
    str, typer.Option("--data", help="Directory of the pool's NATS server, its keys and the operator's key.")
]
BoardName = Annotated[str, typer.Argument(metavar="BOARD", help="Its name, as `eddy pool boards` shows it.")]


@app.command()
def up(
    data: Data = DATA,
    host: Annotated[str, typer.Option("--host", help="Address NATS listens on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option("--port", help="TCP port NATS listens on; 0 chooses a free one.")] = 4222,
    server: Annotated[str, typer.Option("--server", help="Which server, of a pool made by `eddy pool cluster`.")] = "",
    store_bytes: Annotated[
        int, typer.Option("--store-bytes", min=0, help="Most it keeps; 0 is three quarters of what its disk can hold.")
    ] = 0,
    as_json: AsJsonReady = False,
) -> None:
    """Run a NATS server with JetStream on this machine: the pool's only one, or one of a cluster."""
    logs.guard_stdout()
    with signals.catch_signals(), errors_in_one_line(as_json):
        _installed()
        with _server(Path(data).expanduser(), host, port, server, store_bytes).running() as nats:
            if as_json:
                head_file = str(nats.admission.head_file)
                print_json({"head_file": head_file, "host": nats.host, "port": nats.port})
            else:
                print_status(f"eddy: the pool's NATS server listens on {nats.host}:{nats.port}")
                print_status("eddy: `eddy pool admit BOARD` writes the file that a board joins with")
            with signals.raise_on_signal():
                _supervise(nats)
        print_status(f"eddy: the NATS server ended; {nats.folder / 'nats.log'} says why")
        raise typer.Exit(1)


def _server(folder: Path, host: str, port: int, name: str, store_bytes: int) -> NatsServer:
    """A server over a folder, or one of those that a cluster was formed of.

    Raises:
        InvalidRequest: It has none of that name.
    """
    from eddy.pool.servers.admission import PoolAdmission
    from eddy.pool.servers.nats_server import NatsServer

    if not (folder / "users.json").exists() and not name:
        return NatsServer(folder, host, port, store_bytes=store_bytes)
    admission = PoolAdmission(folder)
    of_cluster = {place.folder.name: place for place in admission.places if place.cluster_port}
    if not (name or of_cluster):
        return NatsServer(folder, host, port, admission, store_bytes=store_bytes)
    if name not in of_cluster:
        message = f"The pool in {folder} is a cluster: say with --server which of its servers runs here."
        if not of_cluster:
            message = f"The pool in {folder} is no cluster: leave --server out, or begin one with `eddy pool cluster`."
        raise InvalidRequest(message, field="server", asked=name, allowed=sorted(of_cluster))
    place = of_cluster[name]
    return NatsServer(
        place.folder, place.host, place.port, admission, place.cluster_port, place.routes, store_bytes
    )  # fmt: skip


def _supervise(nats: NatsServer) -> None:
    """Have the server read who is let in where that file was replaced, as by a copy from another machine; until it
    ends."""
    seen = nats.admission.changed_at
    while nats.process.poll() is None:
        time.sleep(0.2)
        try:
            if seen != (seen := nats.admission.changed_at):
                nats.admission.refresh(nats.place)
        except (EddyError, OSError) as failure:
            print_status(f"eddy: the server continues with the boards it admitted before: {failure}")


@app.command()
def cluster(
    servers: Annotated[
        list[str],
        typer.Argument(metavar="NAME=HOST...", help="Servers, three or five: NAME=HOST[:PORT[:CLUSTER_PORT]]."),
    ],
    data: Data = DATA,
    as_json: AsJson = False,
) -> None:
    """Begin a pool of several NATS servers, a machine each: keys, certificate and who reaches whom, in a folder that is
    then copied to each machine."""
    with errors_in_one_line(as_json):
        _installed()
        from eddy.pool.servers.admission import PoolAdmission

        folder = Path(data).expanduser()
        places = _places(servers, folder)
        PoolAdmission(folder, [place.host for place in places.values()]).form_cluster(places)
    if as_json:
        print_json({"servers": {name: f"{place.host}:{place.port}" for name, place in places.items()}})
    else:
        print_status(f"copy {folder} to each machine; there, `eddy pool up --server` its name")


def _places(servers: Sequence[str], folder: Path) -> dict[str, Place]:
    """Servers of a cluster, by name.

    Raises:
        InvalidRequest: They are not written so.
    """
    from eddy.pool.connection.credentials import NAME
    from eddy.pool.servers.admission import CLUSTER_PORT, PORT, Place

    found: dict[str, Place] = {}
    for each in servers:
        name, _, where = each.partition("=")
        host, *ports = where.split(":")
        if not (NAME.fullmatch(name) and host and len(ports) <= 2 and all(port.isdecimal() for port in ports)):
            message = f"{each!r} is no server: write NAME=HOST, NAME=HOST:PORT or NAME=HOST:PORT:CLUSTER_PORT."
            raise InvalidRequest(message, field="servers", asked=each)
        port, cluster_port = (*map(int, ports), *(PORT, CLUSTER_PORT)[len(ports) :])
        found[name] = Place(folder.resolve() / name, host, port, cluster_port)
    if len(found) != len(servers) or len(found) < 2:
        message = "A cluster has several servers, each with a name of its own; three go on where one is lost."
        raise InvalidRequest(message, field="servers", asked=[*servers])
    routes = {name: f"{place.host}:{place.cluster_port}" for name, place in found.items()}
    return {
        name: replace(place, routes=tuple(route for other, route in routes.items() if other != name))
        for name, place in found.items()
    }


@app.command()
def admit(
    board: Annotated[str, typer.Argument(metavar="BOARD", help="Its name in the pool.")],
    data: Data = DATA,
    host: Annotated[str, typer.Option("--host", help="Address of this machine as the board reaches it.")] = "",
    as_json: AsJson = False,
) -> None:
    """Let a board in: make its key, and the file that it joins with. Where `eddy pool up` runs."""
    with errors_in_one_line(as_json):
        admission = _admission(data)
        file = admission.admit(board, host)
        stale = admission.stale_servers()
    if as_json:
        print_json({"board": board, "file": str(file), "stale": stale})
        return
    print_status(f"{board} may join: copy {file} to it, and `eddy serve --pool` that file")
    for each in stale:
        print_status(each)


@app.command()
def revoke(board: BoardName, data: Data = DATA, as_json: AsJson = False) -> None:
    """Revoke a board's key: its connections are cut at once. Where `eddy pool up` runs. `head` for a stolen key of
    the heads, which get another one."""
    with errors_in_one_line(as_json):
        admission = _admission(data)
        admission.revoke(board)
    if as_json:
        print_json({"board": board})
    elif board == "head":
        print_status(f"heads have another key, in {admission.head_file}: copy it to heads on other machines")
    else:
        print_status(f"{board} is out; what it had is placed again as its lease ends")


def _admission(data: str) -> PoolAdmission:
    """Who is let in by the servers of a folder.

    Raises:
        NotFound: There is no pool there.
    """
    _installed()
    from eddy.pool.servers.admission import PoolAdmission

    folder = Path(data).expanduser()
    if not (folder / "users.json").exists():
        message = f"There is no pool in {folder}: run this where `eddy pool up` runs, with its --data."
        raise NotFound(message, field="data", asked=str(folder))
    return PoolAdmission(folder)


@app.command()
def serve(
    pool: Annotated[str, option("pool")] = default("pool"),
    pool_creds: Annotated[str, option("pool_creds")] = default("pool_creds"),
    bitstreams: Annotated[str, option("bitstreams")] = default("bitstreams"),
    name: Annotated[str, typer.Option("--name", help="Of this head; empty is host and process.")] = "",
    policy: Annotated[str, typer.Option("--policy", help="Policy that places, as `eddy place --method`.")] = "prompt",
    egress_bps: Annotated[float, typer.Option("--egress-bps", help="What the store may send in all (bits/s).")] = 1e9,
    bytes_at: Annotated[
        str,
        typer.Option(
            "--bytes", help="Where inputs and outputs lie: a folder that all heads share, or s3://BUCKET/PREFIX."
        ),
    ] = "",
    url: Annotated[str, typer.Option("--url", help="Where boards reach this head, if not by its host and port.")] = "",
    replicas: Annotated[
        int, typer.Option("--replicas", help="NATS servers that keep each bucket; 0 is 3 of three or more, else 1.")
    ] = 0,
    replan_factor: Annotated[float, option("replan_factor")] = default("replan_factor"),
    replan_interval_s: Annotated[float, option("replan_interval_s")] = default("replan_interval_s"),
    patience_s: Annotated[float, option("patience_s")] = default("patience_s"),
    max_connections: Annotated[int, option("max_connections")] = default("max_connections"),
    max_connections_per_client: Annotated[int, option("max_connections_per_client")] = default(
        "max_connections_per_client"
    ),
    trusted_proxies: Annotated[str, option("trusted_proxies")] = default("trusted_proxies"),
    retention_age_s: Annotated[float, option("retention_age_s")] = default("retention_age_s"),
    retention_jobs: Annotated[int, option("retention_jobs")] = default("retention_jobs"),
    retention_jobs_per_tenant: Annotated[int, option("retention_jobs_per_tenant")] = default(
        "retention_jobs_per_tenant"
    ),
    data: Data = DATA,
    host: Annotated[str, option("host")] = default("host"),
    port: Annotated[int, option("port")] = default("port"),
    as_json: AsJsonReady = False,
) -> None:
    """Run a head: the HTTP API over the pool. Any number may run; one of them places jobs."""
    logs.guard_stdout()
    with signals.catch_signals(), errors_in_one_line(as_json):
        _installed()
        from eddy.host import interpreter_switching, memory_tuning

        memory_tuning.limit_heaps()
        with memory_tuning.pause_collection():
            from eddy.api.http.connections import ConnectionLimits, parse_proxies
            from eddy.api.service import log_lines
            from eddy.pool.head.head_server import Head, HeadSettings
            from eddy.pool.placement.replanning import ReplanSettings
            from eddy.store.db.bounds import JobBounds

        log_lines.configure(str(SETTINGS["log_level"].value()), str(SETTINGS["log_format"].value()))
        folder = Path(data).expanduser()
        named = pool or str(folder / "head.json")
        settings = HeadSettings(
            pool=named,
            bitstreams=bitstreams_folder(bitstreams),
            key_file=folder / "operator.key",
            name=name or f"{socket.gethostname()}-{time.time_ns():x}",
            policy=policy,
            egress_bps=egress_bps,
            host=host,
            port=port,
            replicas=replicas,
            replan=ReplanSettings(replan_factor, replan_interval_s),
            patience_s=patience_s,
            creds=pool_creds,
            connections=ConnectionLimits(
                max_connections, max_connections_per_client, trusted_proxies=parse_proxies(trusted_proxies)
            ),
            retention=JobBounds(retention_age_s, retention_jobs, retention_jobs_per_tenant),
            folder=folder / "heads",
            bytes=bytes_at or ("" if Path(named).is_file() else str(folder / "bytes")),
            url=url,
        )
        head = Head(settings)

        def ready() -> None:
            memory_tuning.freeze_objects()
            interpreter_switching.set_switch_interval()
            if as_json:
                print_json({"url": head.url, "operator_key_file": str(settings.key_file)})
            else:
                print_status(f"eddy: the pool's head serves on {head.url}")
                print_status(f"eddy: the operator's key is in {settings.key_file}, where the first head ran")

        with signals.call_on_signal(head.stop):
            head.run(ready)
        print_status("eddy: stopped; running jobs continue, waiting ones need another head")


@app.command()
@asks_server
def status(client: Client) -> Answer:
    """Which head leads, and how many jobs wait and run."""
    found = client.transport.json("GET", "/v1/pool")
    yield found
    present = sum(board["present"] for board in found["boards"])
    for board in found["boards"]:
        if board.get("floods"):
            print_status(
                f"{board['name']} floods the pool with {board['floods']}: `eddy pool revoke {board['name']}` ends that"
            )
    for stream in found.get("missing", ()):
        print_status(f"the servers have lost {stream}: restore it; its contents are unknown until then")
    for record in found.get("unreadable", ()):
        print_status(f"{record['key']} in {record['bucket']} cannot be read, and is set aside: {record['why']}")
    print(f"{found['leader'] or 'no head'} places by {found['policy']}: {present} of {len(found['boards'])} boards "
          f"present, {found['waiting']} jobs wait, {found['on_boards']} are on boards")  # fmt: skip
    store = found.get("store")
    if store:
        parts = ("blobs and outputs", "blobs_bytes"), ("records of jobs", "records_bytes")
        print("; ".join(f"{what} take {_kept(store, name)}" for what, name in parts))


@app.command()
def doctor(
    read: Annotated[bool, typer.Option("--read", help="Read all blobs and outputs, too.")] = False,
    url: Url = URL,
    key: Key = KEY,
    as_json: AsJson = False,
) -> None:
    """What is wrong with the pool and what to do; exit code 1 where something is."""
    with errors_in_one_line(as_json), connect(url, key) as client:
        found = client.transport.json("GET", "/v1/pool/examination")["findings"]
        if read:
            found += _damaged(client)
    if as_json:
        print_json({"findings": found})
    for each in found if not as_json else ():
        print(f"{'ok' if each['ok'] else 'look':5} {each['check']:12} {each['found']}")
        if each["advice"]:
            print(f"{'':18} {each['advice']}")
    if not all(each["ok"] for each in found):
        raise typer.Exit(FAILED)


def _damaged(client: Any) -> list[dict[str, Any]]:
    """What is found where all bytes are read, as further findings."""
    damaged, number, cursor = list[str](), 0, ""
    while cursor is not None:
        told = client.transport.json("GET", "/v1/pool/bytes", params={"cursor": cursor})
        damaged, number, cursor = damaged + told["damaged"], number + told["read"], told["next"]
    advice = "have it uploaded again; where it is an output, the job run again"
    wrong = [
        {"check": "read", "ok": False, "found": f"blob {sha} of {tenant} is damaged or lost", "advice": advice}
        for tenant, sha in (each.split("/") for each in damaged)
    ]
    return wrong or [{"check": "read", "ok": True, "found": f"{number} blobs are what they should be", "advice": ""}]


def _kept(store: dict[str, int], name: str) -> str:
    most = store[f"most_{name}"]
    return format_size(store[name]) + (f" of {format_size(most)}" if most else "")


def _state(board: dict[str, Any]) -> str:
    if board.get("floods"):
        return f"floods the pool with {board['floods']}: `eddy pool revoke {board['name']}` ends that"
    if not board["present"]:
        return "away"
    if board["drained"]:
        return f"drained: {board['drained']}"
    if board.get("held_back_s"):
        return f"held back for {board['held_back_s']:.0f} s: it dropped what it was given"
    return "present"


@app.command()
@asks_server
def boards(client: Client) -> Answer:
    """The boards of the pool."""
    found = client.transport.json("GET", "/v1/pool")["boards"]
    yield found
    for board in found:
        state = _state(board)
        if not board.get("computes", True):
            state += ", models times alone"
        state += "".join(f", {name}={value}" for name, value in board.get("labels", {}).items())
        link = format_bits_rate(board["link_bps"]) if board["link_bps"] else "link not measured"
        print(
            f"{board['name']:16} {board['kind']:14} {len(board['running'])} of {board['width']} jobs, {link}, {state}"
        )


@app.command()
@asks_server
def drain(
    client: Client,
    board: BoardName,
    because: Annotated[str, typer.Option("--because", help="Why, for operators who see it later.")] = "drained",
) -> Answer:
    """Give a board no more jobs; what it has ends there."""
    yield from _change(client, board, because)


@app.command()
@asks_server
def undrain(client: Client, board: BoardName) -> Answer:
    """Give a board jobs again."""
    yield from _change(client, board, "")


@app.command()
@asks_server
def label(
    client: Client,
    board: BoardName,
    labels: Annotated[list[str], typer.Argument(metavar="NAME=VALUE...", help="Labels to set; NAME= takes one away.")],
) -> Answer:
    """Set labels of a board, which jobs ask for with --board-labels; the others stay."""
    boards = client.transport.json("GET", "/v1/pool")["boards"]
    kept: dict[str, str] = next((each["labels"] for each in boards if each["name"] == board), {})
    for each in labels:
        name, equal, value = each.partition("=")
        if not equal:
            raise InvalidRequest(f"{each!r} is no label: write NAME=VALUE.", field="labels", asked=each)
        kept[name] = value
    left = {name: value for name, value in kept.items() if value}
    found = client.transport.json("PUT", f"/v1/pool/boards/{board}/labels", body={"labels": left})
    yield found
    print_status(f"{board}: " + (", ".join(f"{name}={value}" for name, value in left.items()) or "no labels"))


@app.command()
@asks_server
def forget(client: Client, board: BoardName) -> Answer:
    """Take a board out of the pool that is gone for good; its name is free again."""
    client.transport.request("DELETE", f"/v1/pool/boards/{board}")
    yield {"board": board}
    print_status(f"{board} is no board of the pool any more")


@app.command()
@asks_server
def rebalance(
    client: Client,
    running: Annotated[
        bool, typer.Option("--running", help="Running jobs too, where another board would end them sooner.")
    ] = False,
) -> Answer:
    """Take jobs that wait on boards where others have a place free; they are placed again at once."""
    found = client.transport.json("POST", "/v1/pool/rebalance", body={"running": running})
    yield found
    for each in found["taken"]:
        print(f"job {each['job']} is taken from {each['from']}: {each['because']}")
    if not found["taken"]:
        print_status("no job would end sooner on another board")


@app.command()
@asks_server
def purge(
    client: Client,
    jobs: Annotated[list[int], typer.Argument(metavar="JOB...", help="Jobs that have ended.")],
) -> Answer:
    """Remove the outputs of jobs that have ended, for good; what they took of your bytes is free again."""
    for job in jobs:
        client.transport.request("DELETE", f"/v1/jobs/{job}/outputs")
    yield {"jobs": jobs}
    print_status(f"outputs of {len(jobs)} jobs are removed")


@app.command()
@asks_server
def explain(client: Client, job: JobId) -> Answer:
    """Where a job is, what its placement was decided on, and where it has been."""
    found: dict[str, Any] = client.transport.json("GET", f"/v1/pool/jobs/{job}/explain")
    yield found
    why = found["why"]
    print(f"job {found['id']} is {found['state']}" + (f" on {found['board']}" if found["board"] else ""))
    if why:
        batch = ""
        if "makespan_s" in why:
            batch = f": the batch was to end in {why['makespan_s']:.3g} s, at best {why['bound_s']:.3g} s"
        is_guest = why["policy"] == "guest"
        print("placed as a guest: all boards were full" if is_guest else f"placed by {why['policy']}{batch}")
        for name, times in why["kinds"].items():
            print(f"  {name}: would take {times['p50_s']:.3g} s (p50), {times['p90_s']:.3g} s (p90)")
    for each in found.get("keeps", ()):
        boards = f"{', '.join(each['boards'])}: " if each.get("boards") else "boards: "
        print(f"not on {boards}{each['words']}" + (f" ({each['option']})" if each["option"] else ""))
    for move in found["moves"]:
        print(f"taken from {move['from']} with {move['done']} items committed: {move['because']}")


@app.command()
def timeline(
    last_s: Annotated[int, typer.Option("--last", min=1, max=7 * 86_400, help="Wall seconds to look back.")] = 3600,
    picture: Annotated[
        Path | None, typer.Option("--picture", metavar="FILE", help="Draw it: .png, .svg or .pdf.")
    ] = None,
    trace: Annotated[Path | None, typer.Option("--trace", metavar="FILE", help="Write it for Perfetto.")] = None,
    url: Url = URL,
    key: Key = KEY,
    as_json: AsJson = False,
) -> None:
    """What every board did: a line each, a picture, or a trace for Perfetto. A tenant sees its own jobs."""
    from eddy.cli.pools import pool_timeline

    with errors_in_one_line(as_json), connect(url, key) as client:
        found = client.transport.json("GET", "/v1/pool/timeline", params={"last_s": last_s})
    if picture is not None:
        pool_timeline.write_picture(found, picture)
        print_status(f"drawn: {picture}")
    if trace is not None:
        pool_timeline.write_trace(found, trace)
        print_status(f"written: {trace}; open it at https://ui.perfetto.dev")
    if as_json:
        print_json(found)
    else:
        print("\n".join(pool_timeline.lines(found)) or "no board has joined")


def _change(client: Client, board: str, because: str) -> Answer:
    found = client.transport.json("PUT", f"/v1/pool/boards/{board}", body={"because": because})
    yield found
    print_status(f"{found['name']}: " + (f"drained ({found['drained']})" if found["drained"] else "gets jobs"))


def _installed() -> None:
    """Refuse to begin without the extra; it is not imported, as commands on keys do without it."""
    for name in ("nats", "uvicorn"):
        if importlib.util.find_spec(name) is None:
            raise not_installed(ModuleNotFoundError(name=name), "pool")
