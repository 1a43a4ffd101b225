# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""A pool that runs for long in a small store: it writes many times what the store holds, and ends as it began.

    make bench ARGS="pool_lifetime --times 10 --store-mb 64"

A NATS server, bounded to `--store-mb`, a head in this process, which keeps `--kept` ended jobs of a tenant, and agents
behind which nothing is computed. Tenants submit jobs with inputs of their own, wait for them, read nothing, and delete
the inputs. `written_mb` is what went through the store: inputs and outputs. Files of the store are looked at all the
time: `first_mb` is the median while the second of the store's sizes is written, `middle_mb` of the fifth around half,
`last_mb` of the last tenth of all, and `most_mb` the most; the last is compared with the middle, as a server compacts
records late. The head's own memory is looked at in the same way.
"""

from __future__ import annotations

import argparse
import contextlib
import statistics
import tempfile
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
from eddy.cli.support.installed import bitstreams_folder
from eddy.client import Client
from eddy.core.errors import EddyError
from eddy.pool.head.head_server import Head, HeadSettings
from eddy.pool.servers.nats_server import NatsServer
from eddy.store.db.bounds import JobBounds

from benches import ROOT, tell
from benches.pool_work import boards

FAST = {
    "head.record_collector.MIN_AGE_S": 2.0,
    "head.record_collector.LOOK_S": 0.5,
    "head.record_collector.MARK_S": 5.0,
    "jetstream.byte_accounts.MARKER_S": 20,
}
"""Wall seconds of a pool that lives fast: what is to stay for a minute or an hour stays so long."""
TENANTS, BOARDS = 4, 8
TILE = (128, 128)


@dataclass
class Seen:
    """What was written, and how large all was then.

    Attributes:
        written: Bytes of inputs and outputs.
        sizes: (bytes written, megabytes of the store's files, megabytes of this process).
    """

    written: int = 0
    jobs: int = 0
    sizes: list[tuple[int, float, float]] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)


@contextlib.contextmanager
def head(folder: Path, nats: NatsServer, kept: int) -> Iterator[tuple[str, str]]:
    """A head that keeps so many ended jobs of a tenant; its address, and the operator's key."""
    key_file, ready = folder / "operator.key", threading.Event()
    settings = HeadSettings(
        str(nats.admission.head_file), bitstreams_folder(""), key_file, "bench", port=0,
        retention=JobBounds(max_jobs_per_tenant=kept), folder=folder / "heads",
    )  # fmt: skip
    it = Head(settings)
    thread = threading.Thread(target=it.run, args=(ready.set,), daemon=True)
    thread.start()
    if not ready.wait(60):
        raise SystemExit("the head does not begin")
    try:
        yield it.url, key_file.read_text(encoding="utf-8").strip()
    finally:
        it.stop()
        thread.join(30)


def disk_mb(folder: Path) -> float:
    """What files of a folder take."""
    total = 0
    for path in folder.rglob("*"):
        with contextlib.suppress(OSError):
            total += path.stat().st_blocks * 512
    return total / 1e6


def own_mb() -> float:
    """What this process holds of the machine's memory."""
    status = Path("/proc/self/status").read_text(encoding="utf-8")
    return int(status.split("VmRSS:")[1].split()[0]) / 1e3


def work(url: str, key: str, seed: int, output_bytes: int, most: int, seen: Seen) -> None:
    """Submit jobs with inputs of their own, one after another, until so many bytes are written."""
    chance = np.random.default_rng(seed)
    with Client(url, key) as client:
        while seen.written < most:
            tile = chance.integers(0, 256, (1, *TILE), np.uint8)
            try:
                job = client.submit("image_compression", {"image": tile}).wait(timeout_s=300)
                for blob in client.blobs():
                    client.delete_blob(blob["sha256"])
            except EddyError as refused:
                seen.failures.append(f"{refused.code}: {refused.message}")
                time.sleep(0.5)
                continue
            seen.jobs += 1
            seen.written += output_bytes + tile.nbytes
            if job.data["state"] != "succeeded":
                seen.failures.append(str(job.data["error"]))


def measure(times: float, store_mb: int, output_bytes: int, kept: int) -> dict[str, float]:
    """Write so many times the store's size."""
    most, seen = round(times * store_mb * 1e6), Seen()
    with tempfile.TemporaryDirectory(prefix="eddy-bench-") as name, contextlib.ExitStack() as stack:
        for constant, seconds in FAST.items():
            stack.enter_context(patch(f"eddy.pool.{constant}", seconds))
        nats = NatsServer(Path(name) / "nats", store_bytes=store_mb * 1_000_000)
        stack.enter_context(nats.running())
        url, key = stack.enter_context(head(Path(name), nats, kept))
        stack.enter_context(boards(nats, BOARDS, 0.01, ROOT, output_bytes))
        operator = stack.enter_context(Client(url, key))
        keys = [str(operator.add_tenant(f"t{number}")["key"]) for number in range(TENANTS)]
        began_s = time.monotonic()
        threads = [
            threading.Thread(target=work, args=(url, each, seed, output_bytes, most, seen), daemon=True)
            for seed, each in enumerate(keys)
        ]
        for thread in threads:
            thread.start()
        while any(thread.is_alive() for thread in threads):
            time.sleep(1.0)
            seen.sizes.append((seen.written, disk_mb(nats.folder), own_mb()))
            if len(seen.sizes) % 20 == 0:
                tell(f"{seen.written / 1e6:.0f} MB in {seen.jobs} jobs; {seen.sizes[-1][1]:.1f} MB on the disk")
        kept_jobs = sum(len(operator.jobs(limit=500, tenant=f"t{number}")) for number in range(TENANTS))
        early = [each for each in seen.sizes if 1e6 * store_mb <= each[0] < 2e6 * store_mb]
        middle = [each for each in seen.sizes if 0.4 * most <= each[0] < 0.6 * most]
        late = [each for each in seen.sizes if each[0] >= 0.9 * most]
        return {
            "written_mb": round(seen.written / 1e6, 1),
            "times_the_store": round(seen.written / store_mb / 1e6, 1),
            "jobs": seen.jobs,
            "jobs_kept": kept_jobs,
            "failures": len(seen.failures),
            "span_s": round(time.monotonic() - began_s, 1),
            "first_mb": round(statistics.median(each[1] for each in early), 1),
            "middle_mb": round(statistics.median(each[1] for each in middle), 1),
            "last_mb": round(statistics.median(each[1] for each in late), 1),
            "most_mb": round(max(each[1] for each in seen.sizes), 1),
            "first_memory_mb": round(statistics.median(each[2] for each in early), 1),
            "last_memory_mb": round(statistics.median(each[2] for each in late), 1),
        }


OPTIONS: dict[str, dict[str, Any]] = {
    "--times": {"type": float, "default": 10.0, "help": "what is written, in sizes of the store"},
    "--store-mb": {"type": int, "default": 64},
    "--output-bytes": {"type": int, "default": 400_000},
    "--kept": {"type": int, "default": 8, "help": "ended jobs of each tenant that are kept"},
}


def bench(options: argparse.Namespace) -> dict[str, Any]:
    """One run."""
    return {"pool": measure(options.times, options.store_mb, options.output_bytes, options.kept)}


def missed(found: dict[str, dict[str, float]]) -> list[str]:
    """Jobs that failed, and a store that grew."""
    (row,) = found.values()
    grew = row["last_mb"] > 1.1 * row["middle_mb"]
    said = [f"{row['failures']:g} requests or jobs failed"] if row["failures"] else []
    return said + ([f"the store grew from {row['middle_mb']:g} to {row['last_mb']:g} MB"] if grew else [])
