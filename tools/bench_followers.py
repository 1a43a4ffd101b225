"""What a thousand followers cost: server-sent events of a whole feed, about an event a second, on the model board.

`eddy serve` with an operator's feed on every connection. First nobody follows, and a job comes each second to a board
that is drained; then a thousand do. The server's processor time over that of the same without followers is theirs; the
lag of an event is from the moment its job's submission was sent, so it includes keeping the job, to each follower that
has it; the spread is from the first that has it. With `--json`, one object on standard output.
"""

from __future__ import annotations

import argparse
import asyncio
import bisect
import json
import os
import sys
import tempfile
import time
from pathlib import Path

from bench_service import prepare, submission
from service_bench.clients import Connection, ask, request
from service_bench.servers import Running, eddy

FOLLOWERS = 1000
MOST = {"processor of followers, cores": 0.05, "lag p99 ms": 100.0}
"""Goals, of a quiet machine."""


def spent_s(process: int) -> float:
    """Processor seconds a process has taken."""
    fields = Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


async def follow(port: int, wire: bytes, seen: dict[int, list[float]]) -> None:
    """Read one feed until cancelled; notes when which event came."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        writer.write(wire)
        await reader.readuntil(b"\r\n\r\n")
        while True:
            line = await reader.readline()
            if not line:
                return
            if line.startswith(b"id: "):
                seen.setdefault(int(line[4:]), []).append(time.perf_counter())
    finally:
        writer.close()


async def happen(port: int, key: str, seconds: float) -> list[float]:
    """About an event a second: a job comes, on a board whose slots are all drained. Answers when each was sent."""
    connection, make, sent_s = await Connection.open(port), submission(key), list[float]()
    try:
        for _ in range(round(seconds)):
            sent_s.append(time.perf_counter())
            await connection.ask(make())
            await asyncio.sleep(1)
    finally:
        connection.close()
    return sent_s


def drain(server: Running) -> None:
    """Nothing is placed any more."""
    body = json.dumps({"drained": True, "because": "measured"}).encode()
    slots = json.loads(ask(server.port, request("GET", "/v1/slots", server.key))[1])["slots"]
    for slot in slots:
        path, headers = f"/v1/admin/slots/{slot['slot']}", {"Content-Type": "application/json"}
        status, said = ask(server.port, request("PUT", path, server.key, body, headers))
        if status != 200:
            raise SystemExit(f"slot {slot['slot']} was not drained: {status} {said!r}")


async def measure(server: Running, followers: int, seconds: float) -> dict[str, float]:
    """Processor time alone and with followers, and how far apart they are told."""
    began_s = spent_s(server.process)
    await happen(server.port, server.key, seconds)
    alone_s = spent_s(server.process) - began_s
    seen: dict[int, list[float]] = {}
    headers = {"Accept": "text/event-stream"}
    wire = request("GET", "/v1/events", server.key, more=headers)
    tasks = [asyncio.create_task(follow(server.port, wire, seen)) for _ in range(followers)]
    await asyncio.sleep(6)
    seen.clear()
    began_s = spent_s(server.process)
    sent_s = await happen(server.port, server.key, seconds)
    with_s = spent_s(server.process) - began_s
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    lags, spreads = list[float](), list[float]()
    for times in seen.values():
        first_s = min(times)
        cause_s = sent_s[bisect.bisect(sent_s, first_s) - 1]
        lags += [at_s - cause_s for at_s in times]
        spreads += [at_s - first_s for at_s in times]
    count = len(lags)
    return {
        "followers": float(followers),
        "events": float(len(seen)),
        "told": float(count),
        "told / due": count / max(1, len(seen) * followers),
        "told each a second": count / followers / seconds,
        "processor of followers, cores": (with_s - alone_s) / seconds,
        "processor us an event told": (with_s - alone_s) / max(1, count) * 1e6,
        "lag p50 ms": _quantile(lags, 0.5) * 1e3,
        "lag p99 ms": _quantile(lags, 0.99) * 1e3,
        "spread p99 ms": _quantile(spreads, 0.99) * 1e3,
    }


def _quantile(values: list[float], part: float) -> float:
    return sorted(values)[int(part * len(values))] if values else float("nan")


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--followers", type=int, default=FOLLOWERS)
    parser.add_argument("--seconds", type=float, default=12.0, help="of following")
    options = parser.parse_args()
    more = (
        "--max-connections",
        str(options.followers + 50),
        "--max-connections-per-client",
        str(options.followers + 50),
    )
    with tempfile.TemporaryDirectory(prefix="eddy-bench-") as folder, eddy(Path(folder), more=more) as server:
        prepare(server)
        drain(server)
        found = asyncio.run(measure(server, options.followers, options.seconds))
    if options.json:
        json.dump(found, sys.stdout)
        return 0
    for what, value in found.items():
        goal = f" (goal at most {MOST[what]:g}: {'met' if value <= MOST[what] else 'missed'})" if what in MOST else ""
        print(f"{what}: {value:.4g}{goal}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
