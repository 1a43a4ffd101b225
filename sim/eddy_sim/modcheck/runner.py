"""Builds a module from its manifest and holds it against the slot contract."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from eddy.board.manifest import ModuleManifest, load_module_manifest
from eddy.core.errors import InvalidRequest

CHECKS = (
    *("ports", "identity", "registers", "hls", "protocol"),
    *("backpressure", "windows", "errors", "reset"),
)
"""The checks, in the order they run."""


@dataclass(frozen=True)
class Finding:
    """How one check went.

    Attributes:
        check: Its name.
        what: What it checks, in one line.
        passed: Whether the module passed.
        reason: Why not; empty where it passed.
    """

    check: str
    what: str
    passed: bool
    reason: str


def check_module(path: Path) -> list[Finding]:
    """Build a module and run every check.

    Args:
        path: Its manifest, or the folder that holds it.

    Raises:
        InvalidRequest: The manifest is wrong, has no example, or is not an HLS module's.
        BuildFailed: The module does not compile; the message holds what the compiler said.
    """
    from eddy_sim.bench import Bench, BenchFailed

    manifest = load_module_manifest(path)
    _require_example(manifest)
    build = hashlib.sha256(manifest.module.encode()).hexdigest()[:16]
    bench = Bench(manifest.top, manifest.files, parameters={"BuildHash": f"64'h{build}"})
    with tempfile.TemporaryDirectory(prefix="modcheck-") as folder:
        report = Path(folder) / "report.jsonl"
        environment = {
            "EDDY_MODCHECK_MANIFEST": str(path.resolve()),
            "EDDY_MODCHECK_BUILD": build,
            "EDDY_MODCHECK_REPORT": str(report),
        }
        said = ""
        try:
            with _environment(environment):
                bench.run("eddy_sim.modcheck.cocotb_contract", Path(__file__).parents[2])
        except BenchFailed as failed:
            said = failed.message.splitlines()[-1]
        lines = report.read_text(encoding="utf-8").splitlines() if report.is_file() else []
    found = {line["check"]: Finding(**line) for line in map(json.loads, lines)}
    return [found.get(check, Finding(check, "", False, f"did not run: {said}")) for check in CHECKS]


@contextlib.contextmanager
def _environment(values: Mapping[str, str]) -> Iterator[None]:
    # Paths cannot go through the bench's own `environment`, whose values name its log.
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def _require_example(manifest: ModuleManifest) -> None:
    if manifest.kind.value != "hls":
        raise InvalidRequest("only modules of kind hls can be checked", field="kind", allowed=["hls"])
    if not manifest.example:
        raise InvalidRequest(
            f"the manifest of {manifest.module} has no example; add a short legal run, such as "
            "example: {in: 256, out: 256, blocks: 2} (bytes of each buffer, value of each scalar)",
            field="example",
        )
