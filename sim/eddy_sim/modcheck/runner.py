# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Builds a module from its manifest and holds it against the slot contract.

What was found goes on record beside the manifest (`eddy_sim.modcheck.records`): a server gives jobs no module without.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import resource
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from eddy.core.errors import InvalidRequest
from eddy.core.slots import Control
from eddy.packages.manifests import load_module_manifest
from eddy.packages.modules import ModuleKind, ModuleManifest

from eddy_sim.design import bench_process
from eddy_sim.modcheck.composition import check_runs
from eddy_sim.modcheck.finding import Finding
from eddy_sim.modcheck.model import build_checked
from eddy_sim.modcheck.records import record_check
from eddy_sim.modcheck.scrubbing import check_scrubbing
from eddy_sim.tools.filelist import read_filelist, source_files
from eddy_sim.tools.products import Progress, ignore_progress

_BLOCK = re.compile(r"^\s*module\s+(?:automatic\s+)?(\w+)", re.MULTILINE)
WITHOUT_RUNS = ("ports", "identity", "registers", "control")
"""The checks that start nothing, or may: all there are for a module that has no control protocol."""
BENCH_CHECKS = (*WITHOUT_RUNS, "protocol", "backpressure", "windows", "errors", "reset")
"""The checks that run on a cocotb bench, in the order they run."""
CHECKS = (*BENCH_CHECKS, "runs", "scrub")
"""All checks of an accelerator with a control protocol, in order; of a GPU cluster, only the last."""


def check_module(path: Path, record: bool = False, progress: Progress = ignore_progress) -> list[Finding]:
    """Build a module and run every check.

    Args:
        path: Its manifest, or the folder that holds it.
        record: Write down beside the manifest that this build passed, and that a reset scrubs it, where that is so; and
            remove what was written of it before where it is not.
        progress: Told what is being done.

    Raises:
        InvalidRequest: The manifest is wrong or has no example, or its folder cannot be written.
        BuildFailed: The module does not compile; the message holds what the compiler said.
    """
    path = path / "manifest.yaml" if path.is_dir() else path
    manifest = load_module_manifest(path)
    if manifest.kind is not ModuleKind.GPU and manifest.control is not Control.NONE:
        _require_example(manifest)
    _require_top(manifest)
    progress("building its model")
    _, build_hash = build_checked(path.resolve(), progress)
    findings = _findings(path, manifest, record, progress)
    if record:
        # No task can run on what has no control protocol: there is nothing that a record would let in.
        passed = all(finding.passed for finding in findings) and manifest.control is not Control.NONE
        record_check(path.parent, manifest, f"{build_hash:016x}", passed)
    return findings


def _findings(path: Path, manifest: ModuleManifest, record: bool, progress: Progress) -> list[Finding]:
    if manifest.kind is ModuleKind.GPU:
        return [check_scrubbing(path, record, progress)]
    if manifest.control is Control.NONE:
        return _bench_checks(path, manifest, WITHOUT_RUNS)
    progress("driving it at its ports: registers, control, memory that pauses and fails, resets")
    found = _bench_checks(path, manifest, BENCH_CHECKS)
    progress("comparing runs that follow different ones")
    found.append(_check_runs(path))
    progress("comparing what a reset leaves of different pasts")
    return [*found, check_scrubbing(path, record, progress)]


def processor_s() -> float:
    """Seconds of processor that this process has taken, with what it started."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used) + bench_process.spent_s()


def _check_runs(path: Path) -> Finding:
    what = "a run's results and end follow from its arguments and memory, whatever ran before"
    verdict = check_runs(path)
    if verdict.leak is not None:
        return Finding("runs", what, False, str(verdict.leak))
    if verdict.unusual is None:
        return Finding("runs", f"{what}; so does its time", True, "")
    unusual = (
        f"its time follows from runs before it: {verdict.unusual}. Runs of one tenant follow each other so; no other"
        " tenant comes before a reset or a load"
    )
    return Finding("runs", what, True, "", unusual=unusual)


def _bench_checks(path: Path, manifest: ModuleManifest, checks: Sequence[str]) -> list[Finding]:
    from eddy_sim.design.bench import Bench, BenchFailed

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
                tests = "eddy_sim.modcheck.cocotb_contract"
                bench.run(tests, Path(__file__).parents[2], checks, environment=everything)
        except BenchFailed as failed:
            said = failed.message.splitlines()[-1]
        lines = report.read_text(encoding="utf-8").splitlines() if report.is_file() else []
    found = {line["check"]: Finding(**line) for line in map(json.loads, lines)}
    timed = ", ".join(register.name for register in manifest.registers if register.timed)
    if timed and "backpressure" in found and found["backpressure"].passed:
        unusual = f"{timed} was not compared: by the manifest it measures time"
        found["backpressure"] = replace(found["backpressure"], unusual=unusual)
    return [found.get(check, Finding(check, "", False, f"did not run: {said}")) for check in checks]


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


def _require_top(manifest: ModuleManifest) -> None:
    sources = {
        path: path.read_text(encoding="utf-8", errors="replace") for path in source_files(read_filelist(manifest.files))
    }
    held = {name: path for path, text in sources.items() for name in _BLOCK.findall(text)}
    if not held or manifest.top in held:
        return
    used = {
        name for name, own in held.items() for path, text in sources.items()
        if path != own and re.search(rf"\b{name}\b", text)
    }  # fmt: skip
    tops = sorted(held.keys() - used) or sorted(held)
    raise InvalidRequest(
        f"top is {manifest.top!r}, and no source of {manifest.files.name} holds a module of that name;"
        f" at the top there: {', '.join(tops)}",
        field="top",
        allowed=tops,
    )


def _require_example(manifest: ModuleManifest) -> None:
    if not manifest.example:
        raise InvalidRequest(
            f"the manifest of {manifest.module} has no example; add a short legal run, such as "
            "example: {in: 256, out: 256, blocks: 2} (bytes of each buffer, value of each scalar)",
            field="example",
        )
