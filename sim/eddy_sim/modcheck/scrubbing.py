# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Whether a reset scrubs a module, held against what its manifest says."""

from __future__ import annotations

from pathlib import Path

from eddy.packages.manifests import load_module_manifest
from eddy.packages.modules import ModuleManifest, Scrub

from eddy_sim.modcheck import composition
from eddy_sim.modcheck.composition import Verdict, check_scrub
from eddy_sim.modcheck.finding import Finding
from eddy_sim.modcheck.records import record_scrub
from eddy_sim.tools.products import Progress, ignore_progress


def check_scrubbing(path: Path, record: bool = False, progress: Progress = ignore_progress) -> Finding:
    """Compare a module's pasts, and hold the result against what its manifest says.

    Args:
        path: Its manifest, or the folder that holds it.
        record: Write the record where nothing was found.
        progress: Told how far it is.

    Raises:
        BuildFailed: It does not compile.
    """
    folder = path if path.is_dir() else path.parent
    manifest = load_module_manifest(path)
    # Of what is loaded anyway, one past is enough to say how it stands.
    verdict = check_scrub(path, progress, composition.PASTS if manifest.scrub is Scrub.RESET else 1)
    if record:
        record_scrub(folder, manifest, verdict if manifest.scrub is Scrub.RESET else None)
        manifest = load_module_manifest(path)
    if manifest.scrub is Scrub.LOAD:
        why = f"a reset would not do: {verdict.leak}" if verdict.leak else "no look told that a reset would not do"
        return Finding("scrub", f"loaded between tenants, as its manifest says; {why}", True, "")
    if verdict.leak is not None:
        reason = f"a reset does not scrub it: {verdict.leak}; clear that in reset, or say scrub: load"
        return Finding("scrub", "a reset leaves nothing that a next tenant could tell", False, reason)
    return Finding("scrub", f"{_summary(verdict)}; {_standing(manifest, verdict)}", True, "")


def _summary(verdict: Verdict) -> str:
    return (
        f"a reset leaves nothing that a next tenant could tell: {verdict.secrets} secrets, {verdict.looks} looks,"
        f" {verdict.cycles} cycles"
    )


def _standing(manifest: ModuleManifest, verdict: Verdict) -> str:
    """What the record makes of it."""
    if manifest.scrubs(verdict.build):
        return f"recorded for this build, {verdict.build}"
    had = f"names build {manifest.verified_build}, this is {verdict.build}" if manifest.verified_build else "is missing"
    return f"its record {had}, so that it is loaded between tenants: check it without --no-record"
