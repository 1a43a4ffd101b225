# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Every command that takes --json, for real, with libraries that print while it runs and as it ends."""

from __future__ import annotations

import json
import re
import signal
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from bitstreams_kit import package
from command_tree import Commands, commands, root_command, takes_json
from eddy.api.service.server import Server, ServerSettings
from eddy.client import Client
from hypervisor_kit import BYTES, KEY, model_board
from pool_kit import Pool

KERNEL = "__kernel void twice(__global int *x) { x[get_global_id(0)] *= 2; }"
ONE = {"tasks": [{"id": 0, "name": "t", "estimate_us": 1000, "measured_us": 1000}], "edges": [], "max_batch": 4}
SERVED = """
submit chain -i in={here}/in.npy -i key={here}/key.npy -> job={id}
submit chain -i in={here}/in.npy -i key={here}/key.npy --as-array -> array={id}
array show {array}
array wait {array}
array cancel {array} refused
kernel {here}/k.cl --global 4 -a {here}/x.npy --dry-run refused
log {job}
jobs
job {job}
wait {job}
explain {job}
profile {job} refused
result {job} --out {here}/out
hold {job}
cancel {job} refused
events
apps
slots
drain 1
undrain 1
policy
top
usage
quota
blobs
blobs put {here}/x.npy -> blob={sha256}
blobs rm {blob}
market
market explain
market plot --out {here}/market.png refused
market set entitlement
app add {here}/bitstreams/applications/chain.yaml
tenant add grace
tenant set grace --weight 2
tenant list
project add vision --member grace
project set vision --share 2 --drop grace
project list
project remove vision
tenant remove grace --cancel
purge --days 30
key add -> key={id}
key list
key rotate {key} -> key={id}
key revoke {key}
notify add https://example.org/hook -> subscription={id}
notify list
notify test {subscription} -> message={id}
notify log {subscription}
notify redeliver {subscription} {message}
notify remove {subscription}
maintenance plan fans --from 2100-01-01T00:00Z --for 1h -> window={id}
maintenance list
maintenance cancel {window}
lease slot --for 10m --memory 1 -> lease={lease}
leases
lease show {lease}
lease extend {lease} --for 5m
lease env {lease}
lease load {lease} --module flip
lease calendar
lease release {lease}
lease board --for 1m --no-wait -> lease={lease}
lease release {lease}
sessions
sessions show none refused
sessions close none refused
opencl env
vortex env
vortex build {here}/image.c -o {here}/image.vxbin
audit
login --name here
context
logout here
doctor --profile tiny --data {here}/data
backup {here}/backup --data {here}/data
restore {here}/backup --data {here}/again
audit verify --data {here}/again
replay {here}/again --policy nimblock --bitstreams {here}/bitstreams
place {here}/batch.json
simulate --apps {here}/apps.json --events {here}/events.json --policy fcfs --slots 2 --load-ms 1
saturate {here}/bitstreams/applications/chain.yaml --slots 2 --budget-s 1
install --root {here}/nowhere
import {here}/nothing --images {here}/nothing refused
export {here}/nothing --images {here}/nothing refused
board-test --verify {here}/x.npy --trusted-keys {here} refused
bitstreams --profile nothing refused
calibrate --profile nothing refused
gpu run {here}/k.cl refused
demo --profile nothing refused
module new twice --root {here}/module
module fuse nothing --name other --root {here}/module refused
module check nothing refused
module tree {here}/tree
module import {here}/nothing refused
reproduce makespan --out {here}/r --figure nothing refused
serve --board model --profile tiny --port 0 --data {here}/served stops
boardd --board rtl --profile nothing --socket {here}/s refused
gateway --keys {here}/nothing --socket {here}/s refused
"""
"""A command a line, and what is to be known of it: it `stops` at SIGTERM; it is `refused`, as it needs what is not
here (and succeeds in another test); `-> name={key}` keeps a value for later lines."""
POOLED = """
pool up --data {here}/other --port 0 stops
pool admit b9 --data {here}/nats
pool revoke b9 --data {here}/nats
pool serve --pool {here}/nats/head.json --port 0 --data {here}/nats stops
pool status
pool boards
pool doctor
pool label b1 hall=2
pool backup {here}/pool-backup --data {here}/nowhere refused
pool restore {here}/nothing --data {here}/restored refused
pool drain b1
pool undrain b1
pool forget b1 refused
pool rebalance
pool explain 1 refused
pool purge 1 refused
pool cluster one=127.0.0.1 two=127.0.0.1:4301:6301 three=127.0.0.1:4302:6302 --data {here}/cluster
pool timeline
"""
STUDIES = ("mtf", "nimblock", "vayalapra", "hsm", "eddy-policy", "market-progress", "levers", "estimates", "all")
"""They work for minutes, through the one function through which `reproduce makespan` goes."""


def lines(text: str) -> list[tuple[str, str]]:
    """Command and what is said of it."""
    found = [re.fullmatch(r"(.*?)( refused| stops| -> .*)?", line) for line in text.strip().splitlines()]
    return [(match[1], (match[2] or "").strip()) for match in found if match]


def mistake_in(of: str, code: int, out: str, err: str) -> str:
    """What is wrong with what a command left: standard output is one JSON value, or nothing and the error is one."""
    if of == "refused":
        _, object_in_err, rest = err.partition('{"code": ')
        if out or not object_in_err or object_in_err in rest or code == 0:
            return f"not refused in one object: {code} {out!r} {err}"
        error, _ = json.JSONDecoder().raw_decode(object_in_err + rest)  # noise may come before the line's end
        return "" if "detail" in error else f"no detail: {err}"
    try:
        json.loads(out)
    except ValueError:
        return f"no JSON value: {code} {out!r} {err}"
    return "" if code in (0, 1, 128 + signal.SIGTERM) else f"exit code {code}: {err}"


def run_all(text: str, environment: Mapping[str, str], facts: dict[str, Any]) -> None:
    """Run commands, each with what those before it found."""
    mistakes = []
    with Commands(environment) as process:
        for line, of in lines(text):
            command = line.format_map(facts)
            code, out, err = process.run([*command.split(), "--json"], of == "stops", environment["EDDY_KEY"])
            mistake = mistake_in(of, code, out, err)
            if mistake:
                mistakes.append(f"{command}: {mistake}")
            elif of.startswith("->"):
                name, _, key = of.removeprefix("->").strip().partition("=")
                facts[name] = json.loads(out)[key.strip("{}")]
    assert not mistakes, "\n".join(mistakes)


@pytest.fixture
def here(tmp_path: Path) -> Path:
    """A folder with what the commands read."""
    np.save(tmp_path / "in.npy", np.zeros((2, BYTES), np.uint8))
    np.save(tmp_path / "key.npy", np.frombuffer(KEY, np.uint8))
    np.save(tmp_path / "x.npy", np.arange(4, dtype=np.int32))
    (tmp_path / "k.cl").write_text(KERNEL)
    (tmp_path / "image.c").write_text("int main(void) { return 0; }")
    (tmp_path / "apps.json").write_text(json.dumps({"apps": {"one": ONE}}))
    (tmp_path / "events.json").write_text(json.dumps([{"app": "one", "batch": 2, "priority": 9, "arrival_ms": 0}]))
    (tmp_path / "batch.json").write_text(json.dumps({"time_s": [[1, 2], [2, 1], [3, 3.5]]}))
    return tmp_path


@pytest.fixture
def server(here: Path) -> Iterator[Server]:
    settings = ServerSettings("model", "tiny", "fcfs", here / "data", package(here / "bitstreams"), port=0)
    with Server(settings, board=model_board()).background() as running:
        yield running


def test_every_command_is_tried() -> None:
    known = {path for path, command in commands(root_command()) if takes_json(command)}
    texts = [f"{line} " for line, _ in lines(SERVED + POOLED)]
    tried = {path for path in known if any(text.startswith(" ".join(path) + " ") for text in texts)}
    assert known - tried == {("reproduce", study) for study in STUDIES}


def test_on_a_server(server: Server, here: Path) -> None:
    key = server.key_file.read_text().strip()
    environment = {"EDDY_URL": server.url, "EDDY_KEY": key, "EDDY_CONTEXTS": str(here / "contexts")}
    run_all(SERVED, environment, {"here": here})


def test_on_a_pool(tmp_path: Path) -> None:
    with Pool(tmp_path).running() as pool:
        pool.board("b1")
        head = pool.head("h1")
        with Client(head.url, pool.key) as client:
            while not client.transport.json("GET", "/v1/pool")["boards"]:
                time.sleep(0.1)
        run_all(POOLED, {"EDDY_URL": head.url, "EDDY_KEY": pool.key}, {"here": tmp_path})
