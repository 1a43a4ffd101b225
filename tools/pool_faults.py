# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Break a pool at random, from a seed, and check that no job is lost, none counts twice, and every result is right.

    python tools/pool_faults.py --events 30 --seed 1 --out out/pool_faults.json

Three boards, two heads and three NATS servers, which keep everything three times. Every event comes while jobs run:

- a board, a head or a NATS server is killed without a word and started again;
- a board stands still for longer than its lease and then goes on, as if it had never been away; or a NATS server does;
- a NATS server is cut off from everybody, or from the other servers alone;
- a board's network becomes slow (1 Mbit/s, 100 ms);
- a NATS server loses all that it keeps, and gets it from the others; not before each of them has all;
- a head is killed and started again of the other release, where there is one (`--old`, a checkout): old heads and new
  ones answer, lead and read the same records beside each other;
- a NATS server's disk is full; it is freed and the server started again. Without the right to mount a file system for
  it (see `disks` in the summary) this event is left out;
- the date jumps, on a board or a head, by up to a day. Servers of NATS share this machine's date;
- the place of bytes is away: its folder, or the S3 server (`--bytes s3`), which is killed or stands still;
- the disk of that folder is full;
- a board is killed, and started with its folder as it was at the beginning.

Two tenants put, fetch and delete blobs all the while (`tools/pool_traffic.py`), at whichever head answers, so that
events meet bytes in flight. At the end nothing may lie in the place of bytes that nobody refers to.

Beside the jobs that ran, one is submitted while it lasts; `recovery_s` is the wall time from the event until that job
has succeeded; from its end where nothing can succeed before (no place for bytes). The exit code is 1 where a check
failed.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import os
import random
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any, TypeVar
from unittest.mock import patch

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from eddy.cli.demo.demo_plan import Order, photograph
from eddy.cli.demo.demo_run import outputs_match
from eddy.client import Client, Job
from eddy.core.errors import EddyError
from eddy.pool.bytes.byte_store import BlobName
from eddy.pool.connection.streams import LEASE_S
from eddy.pool.head import output_collector
from eddy.pool.jetstream.blobs import PoolBlobs
from eddy.pool.jetstream.link import Link, open_pool
from pool_kit import Pool
from pool_network import SERVERS, Cluster, mounted_disk, restore_all, unmounted
from pool_traffic import Traffic
from s3_kit import BUCKET, S3Server
from service_bench.servers import python_path

BOARDS, HEADS = ("b1", "b2", "b3"), ("h1", "h2")
KINDS = (
    "kill board", "kill head", "kill nats", "freeze board", "freeze nats", "cut nats off", "part nats", "slow link",
    "full disk", "lose disk", "other release", "jump date", "bytes away", "bytes full", "roll board back",
)  # fmt: skip
NEEDED = ("bytes away", "bytes full")
"""Kinds of events that nothing outlives: recovery begins where they end."""
TENANTS = ("bob", "eve")
"""Who has blobs and no jobs."""
BYTES_MB = 256
"""Of the disk of the folder of bytes, where this user may mount a file system."""
SKEWED = Path(__file__).with_name("skewed_clock.py")
STARTS = 20
"""Times that a head is started before the run gives up: servers may be without a leader for so long, and no longer."""
PACE = 15.0
PATIENCE_S = 600.0
T = TypeVar("T")


def steadily(call: Callable[[], T]) -> T:
    """Call until it is answered: heads and the NATS server are away now and then.

    Raises:
        EddyError: It was not within ten minutes.
    """
    deadline = time.monotonic() + PATIENCE_S
    while True:
        try:
            return call()
        except EddyError as error:
            if time.monotonic() > deadline or error.details.get("status", 503) not in (503, 500, 507):
                raise
            time.sleep(0.2)


class ViolationLog(list[str]):
    """What was wrong, said as it is found."""

    def append(self, what: str) -> None:
        """Take it down."""
        print(f"     WRONG: {what}", flush=True)
        super().append(what)


class Run:
    """One run.

    Args:
        folder: For what the pool keeps.
        seed: Of all choices.
        only: Kinds of events; all where there are none.
        s3: Whether bytes lie in an S3 server.
        old: Checkout of another release, of which heads are now and then; None for none.
    """

    def __init__(
        self, folder: Path, seed: int, only: Sequence[str] = (), s3: bool = False, old: Path | None = None
    ) -> None:
        self.net = Cluster(folder / "net", (*BOARDS, *HEADS))
        self.pool, self.chance = Pool(folder, self.net), random.Random(seed)
        self.s3 = S3Server(folder / "s3") if s3 else None
        self.bytes_disk = not s3 and mounted_disk(folder / "bytes", BYTES_MB)
        self.bytes_at = f"s3://{BUCKET}/pool" if s3 else str(folder / "bytes" / "place")
        cannot = {
            *(("full disk",) if not all(self.net.disks) else ()), *(("bytes full",) if not self.bytes_disk else ()),
            *(("other release",) if old is None else ()),
        }  # fmt: skip
        self.old, self.of_old = old, set[str]()
        self.kinds = [kind for kind in only or KINDS if kind not in cannot]
        self.traffic: list[Traffic] = []
        self.heads: dict[str, tuple[subprocess.Popen[bytes], str]] = {}
        self.jobs: list[tuple[Job, Order]] = []
        self.events: list[dict[str, Any]] = []
        self.wrong: list[str] = ViolationLog()
        self.submitted = 0
        self.deck: list[str] = []
        """Kinds of events to come: each once in a shuffled round."""

    def head(self, name: str) -> None:
        """Start a head, and again where it gives up because no server answers in time."""
        for _ in range(STARTS):
            if self._started(name):
                return
            print(f"     {name} did not start and is started again", flush=True)
        raise SystemExit(f"{name} does not start; {self.pool.folder / name}.log says why")

    def _started(self, name: str) -> bool:
        """Start a head in a process of its own, at the address it had before."""
        port = self.heads[name][1].rsplit(":", 1)[-1] if name in self.heads else "0"
        file = self.net.folder / f"{name}.json"
        if not file.exists():
            self.net.file(name, board=False)
        command = [sys.executable, *self.dated(name), "eddy", "pool", "serve", "--json", "--name", name, "--port", port]
        command += ["--pool", str(file), "--data", str(self.pool.folder), "--replicas", "3"]
        command += ["--bytes", self.bytes_at]
        more = {}
        if self.old is not None and name in self.of_old:
            command += ["--bitstreams", str(self.old / "bitstreams")]
            more = {"PYTHONPATH": python_path(self.old)}
        with (self.pool.folder / f"{name}.log").open("ab") as log:
            process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, env={**os.environ, **more})
        assert process.stdout is not None
        text = b""
        while not text.rstrip().endswith(b"}"):
            line = process.stdout.readline()
            if not line:
                process.wait()
                process.stdout.close()
                return False
            text += line
        self.heads[name] = (process, json.loads(text)["url"])
        return True

    def dated(self, name: str) -> tuple[str, ...]:
        """Arguments of Python that run a module under somebody's own date."""
        file = self.pool.folder / f"{name}.date"
        if not file.exists():
            file.write_text("0")
        return (str(SKEWED), str(file))

    def board(self, name: str) -> None:
        """Start a board."""
        if name not in self.net.admission.boards:
            self.net.file(name, board=True)
        self.pool.board(name, pace=PACE, wrapped=self.dated(name))

    @contextlib.contextmanager
    def running(self) -> Iterator[None]:
        """The pool, with its boards and heads, while the block runs."""
        with self.pool.running(), contextlib.ExitStack() as more:
            if self.s3 is not None:
                more.enter_context(self.s3.running())
            if self.bytes_disk:
                more.callback(unmounted, self.pool.folder / "bytes")
            try:
                for name in HEADS:
                    self.head(name)
                for name in BOARDS:
                    self.board(name)
                self.clients = self.clients_of(self.pool.key)
                while self.pool.present(self.clients[0]) != set(BOARDS):
                    time.sleep(0.1)
                keys = [self.clients[0].add_tenant(name, max_blob_bytes=1 << 40)["key"] for name in ("ada", *TENANTS)]
                self.clients = self.clients_of(keys[0])
                for name in BOARDS:
                    self._remember(name)
                urls, seeds = [url for _, url in self.heads.values()], [self.chance.getrandbits(32) for _ in TENANTS]
                for name, key, seed in zip(TENANTS, keys[1:], seeds, strict=True):
                    self.traffic.append(Traffic(name, urls, key, keys[0], seed, self.wrong))
                    self.traffic[-1].start()
                yield
            finally:
                self._stop_heads()

    def _stop_heads(self) -> None:
        for process, _ in self.heads.values():
            process.kill()
            process.wait()
            assert process.stdout is not None
            process.stdout.close()
        self.heads.clear()

    def _remember(self, name: str) -> None:
        """Keep what a board has, as of one moment."""
        process = self.pool.boards[name]
        process.send_signal(signal.SIGSTOP)
        shutil.copytree(self.pool.folder / name, self.pool.folder / f"{name}.before", symlinks=True)
        process.send_signal(signal.SIGCONT)

    def _rolled_back(self, name: str) -> None:
        """Start a board that was killed, as it was then."""
        shutil.rmtree(self.pool.folder / name)
        shutil.copytree(self.pool.folder / f"{name}.before", self.pool.folder / name, symlinks=True)
        self.board(name)

    def clients_of(self, key: str) -> list[Client]:
        """For each head a client that asks it first, and the others where it does not answer."""
        urls = [url for _, url in self.heads.values()]
        return [self.pool.client_at(",".join([url, *(each for each in urls if each != url)]), key) for url in urls]

    def submit(self) -> tuple[Job, Order]:
        """One more job, through any head."""
        first = self.chance.randrange(8)
        order = photograph("ada", 1, first, first + self.chance.randint(2, 7))
        self.submitted += 1
        key, client = f"job-{self.submitted}", self.chance.choice(self.clients)
        job = steadily(lambda: client.submit("image_compression", order.inputs, idempotency_key=key))
        self.jobs.append((job, order))
        return job, order

    def break_something(self) -> None:
        """One event, and what the pool makes of it."""
        for _ in range(3):
            self.submit()
        time.sleep(self.chance.uniform(0.2, 2.0))
        if not self.deck:
            self.deck = self.chance.sample(self.kinds, len(self.kinds))
        kind = self.deck.pop()
        at_s = time.monotonic()
        which, mend = self._break(kind)
        mended_s = [at_s]

        def mends() -> None:
            mended_s.append(time.monotonic())
            mend()

        mending = threading.Timer(self.chance.uniform(1.0, 8.0), mends)
        mending.start()
        probe, order = self.submit()
        self.ended(probe, order)
        ended_s = time.monotonic()
        mending.join()
        recovery_s = max(ended_s - mended_s[kind in NEEDED], 0.0)
        self.events.append({"kind": kind, "which": which, "recovery_s": round(recovery_s, 2)})
        print(f"{len(self.events):4} {kind:13} {which:5} {recovery_s:6.2f} s  {len(self.wrong)} wrong", flush=True)

    def _break(self, kind: str) -> tuple[str, Callable[[], object]]:
        """Break something; answers what, and how it is mended."""
        what = kind.rsplit(" ", 1)[-1]
        if what in ("head", "release"):
            name = self.chance.choice(HEADS)
            self.of_old ^= {name} if what == "release" else set()
            return self._kill_head(name)
        if kind in NEEDED:
            return self._break_bytes(kind)
        if what in ("nats", "off", "disk"):
            return self._break_server(kind, self.chance.choice(SERVERS))
        if kind == "jump date":
            name = self.chance.choice((*BOARDS, *HEADS))
            (self.pool.folder / f"{name}.date").write_text(str(self.chance.uniform(-86400.0, 86400.0)))
            return name, lambda: None
        name = self.chance.choice(BOARDS)
        if kind == "slow link":
            ways = self.net.ways(name)
            for way in ways:
                way.bps, way.delay_s = 1e6, 0.1
            return name, lambda: restore_all(ways)
        if kind in ("kill board", "roll board back"):
            self.pool.kill(name)
            return name, lambda: self.board(name) if kind == "kill board" else self._rolled_back(name)
        process = self.pool.boards[name]
        process.send_signal(signal.SIGSTOP)
        time.sleep(LEASE_S)
        return name, lambda: process.send_signal(signal.SIGCONT)

    def _break_bytes(self, kind: str) -> tuple[str, Callable[[], object]]:
        """Take the place of bytes away, or its room."""
        if self.s3 is not None:
            server = self.s3
            if self.chance.random() < 0.5:
                server.kill()
                return "s3 killed", server.start
            server.stand_still()
            return "s3 still", lambda: server.stand_still(False)
        place = Path(self.bytes_at)
        if kind == "bytes away":
            away = place.rename(place.with_name("away"))
            return "folder", lambda: away.rename(place)
        filler = place.with_name("filler")
        with filler.open("wb", buffering=0) as file, contextlib.suppress(OSError):
            while True:
                file.write(bytes(1 << 16))
        return "folder", filler.unlink

    def _kill_head(self, name: str) -> tuple[str, Callable[[], object]]:
        self.heads[name][0].kill()
        self.heads[name][0].wait()
        return name, lambda: self.head(name)

    def _break_server(self, kind: str, name: str) -> tuple[str, Callable[[], object]]:
        server = self.net.servers[name]
        if kind == "lose disk":
            self._wait_for_copies()
        if kind in ("kill nats", "lose disk"):
            server.kill()
            if kind == "lose disk":
                shutil.rmtree(server.place.store)
            return name, server.start
        if kind == "freeze nats":
            server.process.send_signal(signal.SIGSTOP)
            return name, lambda: server.process.send_signal(signal.SIGCONT)
        if kind == "full disk":
            filler = self.net.fill(name)

            def freed() -> None:
                filler.unlink()
                server.kill()
                server.start()

            return name, freed
        ways = self.net.ways(name) if kind == "cut nats off" else self.net.between(name)
        for way in ways:
            way.cut = True
        return name, lambda: restore_all(ways)

    def _wait_for_copies(self) -> None:
        """Wait until each server has all: of two that lack something, the third alone could know it."""
        operator, deadline = self.clients_of(self.pool.key)[0], time.monotonic() + PATIENCE_S
        while found := [
            each["found"]
            for each in steadily(lambda: operator.transport.json("GET", "/v1/pool/examination"))["findings"]
            if each["check"] == "streams" and " lag " in each["found"]
        ]:
            if time.monotonic() > deadline:
                self.wrong.append(f"copies lag for ten minutes: {found}")
                return
            time.sleep(0.2)

    def ended(self, job: Job, order: Order) -> None:
        """Wait for a job's end and check it."""
        client = self.chance.choice(self.clients)
        deadline = time.monotonic() + PATIENCE_S
        while (shown := steadily(lambda: client.show(job.id)))["state"] not in ("succeeded", "failed", "cancelled"):
            if time.monotonic() > deadline:
                break
            time.sleep(0.1)
        if shown["state"] != "succeeded":
            self.wrong.append(f"job {job.id} is {shown['state']}: {shown['error']}")
            return
        parts = steadily(lambda: client.transport.json("GET", f"/v1/pool/jobs/{job.id}/explain"))["parts"]
        items = [item for part in parts for item in range(part["first"], part["first"] + part["items"])]
        if items != list(range(order.batch)):
            self.wrong.append(f"job {job.id} committed items {items}")
        outputs = steadily(lambda: client.job(job.id).outputs)
        if not outputs_match(outputs, order.expected):
            self.wrong.append(f"job {job.id} has a wrong result")

    def summary(self) -> dict[str, Any]:
        """Every job checked, and what recoveries took."""
        for each in self.traffic:
            each.stop()
        for job, order in self.jobs:
            self.ended(job, order)
        listed = {job["id"] for job in steadily(lambda: self.clients[0].jobs())}
        if listed != {job.id for job, _ in self.jobs} or len(listed) != self.submitted:
            self.wrong.append(f"{self.submitted} jobs were accepted and {len(listed)} are listed")
        self._stop_heads()
        asyncio.run(self._examine_bytes())
        took = {kind: [event["recovery_s"] for event in self.events if event["kind"] == kind] for kind in KINDS}
        recovery = {
            kind: {"events": len(each), "median_s": statistics.median(each), "worst_s": max(each)}
            for kind, each in took.items()
            if each
        }
        return {
            "events": len(self.events),
            "jobs": len(self.jobs),
            "wrong": self.wrong,
            "disks": [*self.net.disks, self.bytes_disk],
            "transfers": sum(each.done for each in self.traffic),
            "broken": sum(each.broken for each in self.traffic),
            "recovery": recovery,
        }

    async def _examine_bytes(self) -> None:
        """What lies there is what is referred to, once a head has swept as it does an hour later; no head runs now."""
        async with open_pool(str(self.net.admission.head_file), "rig", 60.0, bytes_at=self.bytes_at) as link:
            with patch.multiple(output_collector, SETTLED_S=-10.0, LEFT_S=-10.0):
                await _collector(link).sweep()
            named = set[BlobName]()
            for tenant in ("ada", *TENANTS):
                account = await link.accounts.of(tenant)
                await account.wait_caught_up()
                named |= {BlobName(tenant, sha, each.at) for sha, of in account.blobs.items() for each in of.values()}
            async with contextlib.aclosing(link.bytes.blobs()) as all_there_are:
                there = {name async for name, _ in all_there_are}
            if there != named:
                self.wrong.append(f"{len(there - named)} blobs are nobody's, and {len(named - there)} are not there")
            drafts = [*Path(self.bytes_at).glob("*/incoming/*")]
            if drafts:
                self.wrong.append(f"{len(drafts)} files on their way are left")


def _collector(link: Link) -> output_collector.OutputCollector:
    """One whose mirror knows no job that needs a blob, or has ended."""
    projection = SimpleNamespace(select_ended=lambda _: [])
    lead: Any = SimpleNamespace(mirror=SimpleNamespace(projection=projection))
    return output_collector.OutputCollector(link, lead, PoolBlobs(link))


def draw(events: list[dict[str, Any]], path: Path) -> None:
    """Every recovery as a point, kinds of events downwards, wall seconds to the right."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    kinds = [kind for kind in KINDS if any(event["kind"] == kind for event in events)]
    figure = Figure(figsize=(7, 0.6 + 0.34 * len(kinds)), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots()
    for row, kind in enumerate(kinds):
        took = [event["recovery_s"] for event in events if event["kind"] == kind]
        axes.plot(took, [row] * len(took), "|", color="#0072B2", markersize=9)
        axes.plot(statistics.median(took), row, "D", color="#D55E00", markersize=5)
    axes.set_yticks(range(len(kinds)), kinds)
    axes.invert_yaxis()
    axes.set_xlim(left=0)
    axes.set_xlabel("wall seconds until a job submitted at the event has succeeded; diamond: median")
    figure.savefig(path, dpi=110)


def main() -> int:
    """Run, print the summary as JSON, and write it with every event."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--events", type=int, default=30)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", nargs="+", default=(), choices=KINDS, metavar="KIND", help="only such events")
    parser.add_argument("--bytes", choices=("folder", "s3"), default="folder", help="where bytes lie")
    parser.add_argument("--old", type=Path, help="a checkout of another release, of which heads are now and then")
    parser.add_argument("--seconds", type=float, default=3600.0, help="begin no event after so many")
    parser.add_argument("--keep", type=Path, help="folder for what the pool keeps, its logs too")
    parser.add_argument("--out", type=Path, default=Path("out/pool_faults.json"))
    parser.add_argument("--picture", type=Path, help="draw the recovery times")
    given = parser.parse_args()
    began_s = time.monotonic()
    with contextlib.ExitStack() as kept:
        folder = str(given.keep or kept.enter_context(tempfile.TemporaryDirectory(prefix="eddy-pool-")))
        run = Run(Path(folder), given.seed, given.only, given.bytes == "s3", given.old)
        with run.running():
            while len(run.events) < given.events and time.monotonic() - began_s < given.seconds:
                run.break_something()
            found = {"seed": given.seed, **run.summary()}
    given.out.parent.mkdir(parents=True, exist_ok=True)
    given.out.write_text(json.dumps({**found, "each": run.events}, indent=2) + "\n")
    if given.picture:
        draw(run.events, given.picture)
    print(json.dumps(found, indent=2))
    return 1 if run.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
