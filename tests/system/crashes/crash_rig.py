# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Kills `serve`, `boardd`, or both, at random points under a load of applications and kernels, and checks every job.

    PYTHONPATH=tests python tests/system/crashes/crash_rig.py --crashes 100 [--seed S]

Every job has an idempotency key, and is sent again under it until it is acknowledged. In the end there is one job for
each key, each has succeeded, and its outputs are right to the bit. A module that reached outside its windows would have
failed its job.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import json
import os
import random
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
from hypervisor_kit import KEY, expected, item
from kernel_kit import STEP, step_arrays, stepped

TESTS = Path(__file__).resolve().parents[2]
SCRIPT = Path(__file__).with_name("crash_process.py")
KILLED = ("serve", "boardd", "both")
BACK_S = 3.0
"""Wall seconds within which jobs are taken again, on a quiet machine."""
WORK_S, END_S, JOB_S, SALTS = 1.2, 300.0, 0.2, 5


@dataclass(slots=True)
class Wanted:
    """A job that is wanted.

    Attributes:
        output: Name of its output.
        right: What the output must be.
        job: Its number, once it was acknowledged.
    """

    body: bytes
    output: str
    right: bytes
    job: int | None = None


def environment() -> dict[str, str]:
    """As where Eddy is installed: what was compiled once is kept, or every start would compile all modules again."""
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return {**kept, "PYTHONPATH": str(TESTS)}


def spent_s(process: int) -> float:
    """Processor seconds a process has taken."""
    fields = Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def imports_s() -> float:
    """Wall seconds a process takes that only imports what every such server is made of: how fast the machine is now."""
    began_s = time.perf_counter()
    subprocess.run([sys.executable, "-c", "import fastapi, uvicorn, numpy"], check=True, env=environment())
    return time.perf_counter() - began_s


def waited_for_a_core_s(process: int) -> float:
    """Seconds in which the main thread of a process could have computed, and no core was free."""
    return int(Path(f"/proc/{process}/schedstat").read_text().split()[1]) / 1e9


@dataclass(frozen=True, slots=True)
class Start:
    """One start after a crash, or the first one.

    Attributes:
        halves: What was started.
        back_s: Wall seconds until the server said it was ready to take jobs, and its board answered.
        spent_s: Processor seconds of both halves.
        waited_s: Wall seconds of these in which a main thread that could have computed had no core: what neighbours
            took, and each half of the other.
    """

    halves: str
    back_s: float
    spent_s: float
    waited_s: float

    @property
    def alone_s(self) -> float:
        """Wall seconds it would have taken had there always been a core."""
        return self.back_s - self.waited_s


@dataclass(slots=True)
class Rig:
    """Two processes that are killed, and what was asked of them."""

    folder: Path
    draw: random.Random
    wanted: list[Wanted] = field(default_factory=list)
    starts: list[Start] = field(default_factory=list)
    imports_s: list[float] = field(default_factory=list)
    processes: dict[str, subprocess.Popen[str]] = field(default_factory=dict)
    url: str = ""
    key: str = ""
    options: tuple[str, ...] = ()
    """Of the server, behind its data folder."""

    def start(self, which: str) -> None:
        """Start a half."""
        socket = self.folder / "s"
        arguments = [which, str(socket)] + ([str(self.folder / "data"), *self.options] if which == "serve" else [])
        errors = (self.folder / f"{which}.errors").open("a")
        process = subprocess.Popen(
            [sys.executable, str(SCRIPT), *arguments],
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            env=environment(),
        )
        errors.close()
        self.processes[which] = process

    def said(self, which: str) -> dict[str, str]:
        """What a half says when it is ready."""
        process = self.processes[which]
        assert process.stdout is not None
        line = process.stdout.readline()
        assert line, (self.folder / f"{which}.errors").read_text()[-2000:]
        return dict(json.loads(line))

    def up(self) -> None:
        """Start what does not run, both at once as an init system does; notes how long it took until jobs are taken,
        and what it cost."""
        began_s, missing = time.perf_counter(), [each for each in ("boardd", "serve") if each not in self.processes]
        for which in missing:
            self.start(which)
        waited_s = 0.0
        for which in missing:
            said = self.said(which)
            self.url, self.key = said.get("url", self.url), said.get("key", self.key)
            waited_s = waited_for_a_core_s(self.processes[which].pid)  # of the half that was there last
        if missing:
            self.ready()
            cost_s = sum(spent_s(self.processes[which].pid) for which in missing)
            self.starts.append(Start("+".join(missing), time.perf_counter() - began_s, cost_s, waited_s))

    def ready(self) -> None:
        """Return when jobs are taken: a server that was not killed has to notice that its board is back."""
        with httpx.Client(base_url=self.url, timeout=180) as client:
            while client.get("/readyz").status_code != 200:
                time.sleep(0.01)

    def kill(self, which: str) -> None:
        """Kill one half or both."""
        for name in ("serve", "boardd") if which == "both" else (which,):
            process = self.processes.pop(name)
            process.send_signal(signal.SIGKILL)
            process.wait()
            if process.stdout is not None:
                process.stdout.close()

    def client(self) -> httpx.Client:
        """The operator."""
        headers = {"Authorization": f"Bearer {Path(self.key).read_text().strip()}"}
        return httpx.Client(base_url=self.url, headers=headers, timeout=180)

    def upload(self) -> None:
        """Upload what jobs take."""
        blobs = [KEY, *(item(number, salt) for salt in range(SALTS) for number in range(4))]
        blobs += [array.tobytes() for salt in range(SALTS) for array in step_arrays(salt=salt)]
        with self.client() as client:
            for blob in blobs:
                client.put(f"/v1/blobs/{hashlib.sha256(blob).hexdigest()}", content=blob).raise_for_status()

    def another(self) -> Wanted:
        """A job that is wanted and not acknowledged: one that was sent before, or a new one."""
        unanswered = [each for each in self.wanted if each.job is None]
        if unanswered:
            return unanswered[0]
        salt = self.draw.randrange(SALTS)
        made = _kernel(salt) if self.draw.random() < 0.25 else _application(salt, self.draw.randint(1, 4))
        self.wanted.append(made)
        return made

    def send(self, client: httpx.Client, each: Wanted) -> None:
        """Send a submission; what is not acknowledged is sent again later."""
        headers = {"Idempotency-Key": f"key-{self.wanted.index(each)}", "Content-Type": "application/json"}
        answer = client.post("/v1/jobs", content=each.body, headers=headers)
        if answer.status_code == 429:
            time.sleep(0.02)
            return
        if answer.status_code == 503:
            time.sleep(0.05)
            return
        assert answer.status_code == 202, (answer.status_code, answer.text)
        each.job = int(answer.json()["id"])

    def one_crash(self) -> str:
        """Submit until something is killed; answers what."""
        which = self.draw.choice(KILLED)
        self.up()
        killer = threading.Timer(self.draw.uniform(0.0, WORK_S), self.kill, [which])
        killer.start()
        with self.client() as client, contextlib.suppress(httpx.TransportError):
            while killer.is_alive():
                self.send(client, self.another())
        killer.join()
        return which

    def finish(self) -> int:
        """Let everything end, and check it; answers how many jobs there were."""
        self.up()
        until_s = time.monotonic() + END_S + JOB_S * len(self.wanted)
        with self.client() as client:
            while any(each.job is None for each in self.wanted):
                self.send(client, self.another())
                assert time.monotonic() < until_s, "not all are acknowledged"
            for each in self.wanted:
                while (found := client.get(f"/v1/jobs/{each.job}").json())["state"] not in ("succeeded", "failed"):
                    assert time.monotonic() < until_s, f"job {each.job} does not end: {found}"
                    time.sleep(0.02)
                assert found["state"] == "succeeded", found
                output = client.get(f"/v1/jobs/{each.job}/outputs/{each.output}").raise_for_status().content
                assert output == each.right, f"the output of job {each.job} is wrong"
            self._count(client)
        return len(self.wanted)

    def _count(self, client: httpx.Client) -> None:
        """There is one job for each key."""
        numbers = {each.job for each in self.wanted}
        assert len(numbers) == len(self.wanted), "two keys name one job"
        there: set[int] = set()
        page: dict[str, Any] = {"next": ""}
        while page["next"] is not None:
            query = {"limit": 500, **({"cursor": page["next"]} if page["next"] else {})}
            page = client.get("/v1/jobs", params=query).json()
            there |= {job["id"] for job in page["jobs"]}
        assert there == numbers, f"jobs that nobody wants: {sorted(there - numbers)}"

    def clear(self) -> None:
        """End what is left."""
        for which in list(self.processes):
            self.kill(which)


def _application(salt: int, batch: int) -> Wanted:
    body = {
        "application": "chain",
        "batch": batch,
        "inputs": {"in": [hashlib.sha256(item(number, salt)).hexdigest() for number in range(batch)]},
        "constants": {"key": hashlib.sha256(KEY).hexdigest()},
    }
    return Wanted(json.dumps(body).encode(), "out", expected(batch, salt))


def _kernel(salt: int) -> Wanted:
    y, x = step_arrays(salt=salt)
    arrays = [
        {"buffer": hashlib.sha256(each.tobytes()).hexdigest(), "dtype": each.dtype.str, "shape": list(each.shape)}
        for each in (y, x)
    ]
    kernel = {"source": STEP, "kernel": "step", "global_size": [len(y)], "arguments": [*arrays, {"value": 2}]}
    return Wanted(json.dumps({"kernel": kernel}).encode(), "y", stepped(y, x, 2).tobytes())


def run(folder: Path, crashes: int, seed: int, say: Any = lambda _: None) -> Rig:
    """Crash so often, then let everything end and check it."""
    rig = Rig(folder, random.Random(seed))
    try:
        rig.up()
        rig.upload()
        for number in range(crashes):
            which = rig.one_crash()
            if number % 10 == 0:
                rig.imports_s.append(imports_s())
            last = rig.starts[-1]
            say(
                f"{number + 1:>3}  {last.halves} back after {last.back_s:.2f} s, {last.waited_s:.2f} s of it without"
                f" a core; {which} killed, {sum(each.job is not None for each in rig.wanted)} jobs acknowledged"
            )
        rig.finish()
    finally:
        rig.clear()
    return rig


def told(rig: Rig) -> list[str]:
    """How long it took until jobs were taken again, and what that was spent on."""
    back, alone = sorted(each.back_s for each in rig.starts), sorted(each.alone_s for each in rig.starts)
    cost = sorted(each.spent_s for each in rig.starts)
    beside_s = statistics.median(rig.imports_s)
    longest = max(rig.starts, key=lambda each: each.back_s)
    return [
        f"jobs taken again after {statistics.median(back):.1f} s (median), {back[-1]:.1f} s (longest: {longest.halves},"
        f" of which {longest.waited_s:.1f} s waiting for a core); goal {BACK_S:g} s on a quiet machine",
        f"had there always been a core: {statistics.median(alone):.1f} s (median), {alone[-1]:.1f} s (longest)",
        f"that is {statistics.median(back) / beside_s:.1f} times (median) what a process takes that only imports"
        f" fastapi, uvicorn and numpy, {beside_s:.2f} s between these crashes; it cost"
        f" {statistics.median(cost):.2f} s of processor time (median), {cost[-1]:.2f} s (most)",
    ]


def main() -> int:
    """See the module."""
    parser = argparse.ArgumentParser(description="Kill serve, boardd or both at random points, and check every job.")
    parser.add_argument("--crashes", type=int, default=100)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    options = parser.parse_args()
    print(f"{options.crashes} crashes, seed {options.seed}", flush=True)
    with tempfile.TemporaryDirectory(prefix="eddy-crashes-") as name:
        rig = run(Path(name), options.crashes, options.seed, lambda text: print(text, flush=True))
    kernels = sum(each.output == "y" for each in rig.wanted)
    print(
        f"{options.crashes} crashes: {len(rig.wanted)} jobs ({kernels} kernels), none lost, none twice, each with the"
        " right outputs"
    )
    for line in told(rig):
        print(line)
    return 0


if __name__ == "__main__":
    sys.exit(main())
