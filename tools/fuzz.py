# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""`make fuzz`: schemathesis against a server on the model board, as the operator and as a tenant, with all checks.

Schemathesis gets a virtual environment of its own below `build/`: its dependencies do not fit those of PYNQ. It is no
part of `make test`; what it has found is held by plain tests in `tests/api`.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import venv
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from eddy.client import Client

ROOT = Path(__file__).parents[1]
REQUIREMENT = "schemathesis==4.32.5"
HOME = ROOT / "build" / "fuzz"
KERNEL = "kernel void twice(global int *a) { a[get_global_id(0)] *= 2; }"


def schemathesis() -> Path:
    """The program, installed on first use."""
    folder = HOME / REQUIREMENT.replace("==", "-")
    program, stamp = folder / "bin" / "schemathesis", folder / ".ready"
    if not stamp.exists():
        print(f"fuzz: installing {REQUIREMENT} into {folder}", flush=True)
        venv.create(folder, with_pip=True, clear=True)
        subprocess.run([folder / "bin" / "python", "-m", "pip", "install", "-q", REQUIREMENT], check=True)
        stamp.touch()
    return program


@contextmanager
def server(data: Path, log: Path) -> Iterator[dict[str, str]]:
    """A server on the model board, while the block runs; its URL and the file of the operator's key."""
    command = [sys.executable, "-m", "eddy.cli.main", "serve", "--board", "model", "--port", "0", "--json"]
    with log.open("w") as errors:
        process = subprocess.Popen([*command, "--data", str(data)], stdout=subprocess.PIPE, stderr=errors, text=True)
        try:
            assert process.stdout is not None
            text = ""
            for line in process.stdout:
                text += line
                if line.startswith("}"):
                    break
            yield json.loads(text)
            if process.poll() is not None:
                raise SystemExit(f"fuzz: the server ended with {process.returncode}; see {log}")
        finally:
            process.terminate()
            process.wait(30)


def keys(started: dict[str, str]) -> dict[str, str]:
    """A key for each role; each has a job and a kernel of its own already, so that there is something to find."""
    operator = Path(started["operator_key_file"]).read_text().strip()
    with Client(started["url"], operator) as client:
        tenant = client.add_tenant("fuzz")["key"]
    for key in (operator, tenant):
        with Client(started["url"], key) as client:
            for size in (128 * 128, 256):  # what the page's examples name
                client.put_blob(bytes(size))
            client.submit("image_compression", {"image": np.zeros((2, 128, 128), np.uint8)}).wait(timeout_s=60)
            client.kernel(KERNEL, "twice").launch(4096, np.zeros(4096, np.int32)).wait(timeout_s=60)
    return {"operator": operator, "tenant": tenant}


def attack(program: Path, started: dict[str, str], role: str, key: str, minutes: float, more: list[str]) -> int:
    """Run schemathesis in one role; answers its exit code."""
    report = HOME / f"{role}.json"
    command = [program, "--config-file", ROOT / "tools" / "fuzz.toml", "--no-color", "run"]
    command += ["--checks", "all", "--max-time", str(int(minutes * 60)), "--continue-on-failure"]
    # Who revokes or replaces the key that everything is asked with is refused from then on, and tries nothing any more:
    # `make fuzz ARGS="--minutes 1 -- --include-operation-id make_key --include-operation-id revoke_key"` tries these.
    if not any("operation-id" in each for each in more):
        command += ["--exclude-operation-id", "make_key", "--exclude-operation-id", "revoke_key"]
    command += ["--header", f"Authorization:Bearer {key}", "--report-json-path", report, "--report", "json"]
    print(f"fuzz: {minutes:g} minutes as {role}, log in {HOME / role}.log", flush=True)
    with (HOME / f"{role}.log").open("w") as log:
        done = subprocess.run(
            [*map(str, command), f"{started['url']}/openapi.json", *more],
            stdout=log,
            stderr=subprocess.STDOUT,
            cwd=HOME,
            env={**os.environ, "SCHEMATHESIS_HOOKS": str(ROOT / "tools" / "fuzz_hooks.py")},
        )
    print("\n".join((HOME / f"{role}.log").read_text().splitlines()[-25:]), flush=True)
    return done.returncode


def main() -> int:
    """Run the roles that were asked for; 0 where no check failed and the server logged no error."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=10.0, help="for each role")
    parser.add_argument("--as", dest="roles", action="append", choices=["operator", "tenant"], help="default: both")
    parser.add_argument("more", nargs="*", help="for schemathesis, after --")
    arguments = parser.parse_args()
    os.nice(5)
    HOME.mkdir(parents=True, exist_ok=True)
    program, failed = schemathesis(), 0
    for role in arguments.roles or ["operator", "tenant"]:
        log = HOME / f"{role}.server.log"
        with tempfile.TemporaryDirectory(prefix="eddy-fuzz-") as data, server(Path(data), log) as started:
            failed |= attack(program, started, role, keys(started)[role], arguments.minutes, arguments.more)
        unhandled = log.read_text().count("unhandled")
        print(f"fuzz: {role}: the server logged {unhandled} unhandled errors", flush=True)
        failed |= unhandled
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
