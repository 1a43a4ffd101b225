"""Builds a module from its manifest and holds it against the slot contract."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

from eddy.core.errors import InvalidRequest
from eddy.packages.manifests import load_module_manifest
from eddy.packages.modules import ModuleKind, ModuleManifest

from eddy_sim.modcheck.composition import check_runs
from eddy_sim.modcheck.finding import Finding
from eddy_sim.modcheck.scrubbing import check_scrubbing

BENCH_CHECKS = (
    *("ports", "identity", "registers", "hls", "protocol"),
    *("backpressure", "windows", "errors", "reset"),
)
"""The checks that run on a cocotb bench, in the order they run."""
CHECKS = (*BENCH_CHECKS, "runs", "scrub")
"""All checks of an accelerator, in order; of a GPU cluster, only the last."""


def check_module(path: Path, record: bool = False, only_scrub: bool = False) -> list[Finding]:
    """Build a module and run every check.

    Args:
        path: Its manifest, or the folder that holds it.
        record: Write beside the manifest for which build a reset was found to scrub the module, where it was.
        only_scrub: Leave out all but the check for that.

    Raises:
        InvalidRequest: The manifest is wrong, or has no example.
        BuildFailed: The module does not compile; the message holds what the compiler said.
    """
    manifest = load_module_manifest(path)
    if manifest.kind is not ModuleKind.GPU:
        _require_example(manifest)
    if manifest.kind is ModuleKind.GPU or only_scrub:
        return [check_scrubbing(path, record)]
    return [*_bench_checks(path, manifest), _check_runs(path), check_scrubbing(path, record)]


def _check_runs(path: Path) -> Finding:
    what = "a run's outputs and time follow from its arguments and memory, whatever ran before"
    leak = check_runs(path)
    return Finding("runs", what, leak is None, "" if leak is None else str(leak))


def _bench_checks(path: Path, manifest: ModuleManifest) -> list[Finding]:
    from eddy_sim.bench import Bench, BenchFailed

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
                # Each check is told apart, so none is left out for one that failed.
                everything = {"COCOTB_MAX_FAILURES": "0"}
                bench.run("eddy_sim.modcheck.cocotb_contract", Path(__file__).parents[2], environment=everything)
        except BenchFailed as failed:
            said = failed.message.splitlines()[-1]
        lines = report.read_text(encoding="utf-8").splitlines() if report.is_file() else []
    found = {line["check"]: Finding(**line) for line in map(json.loads, lines)}
    return [found.get(check, Finding(check, "", False, f"did not run: {said}")) for check in BENCH_CHECKS]


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
    if not manifest.example:
        raise InvalidRequest(
            f"the manifest of {manifest.module} has no example; add a short legal run, such as "
            "example: {in: 256, out: 256, blocks: 2} (bytes of each buffer, value of each scalar)",
            field="example",
        )
