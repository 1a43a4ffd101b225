# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The records beside a module's manifest: for which build a check found what.

Each names a build hash: another build has none, and is given to no job, or loaded between tenants, until it is checked.
A check holds the module against its manifest, so its record names what it found there, too.
"""

from __future__ import annotations

from pathlib import Path

from eddy.core.errors import InvalidRequest
from eddy.packages.manifests import CHECK_RECORD, SCRUB_RECORD
from eddy.packages.modules import ModuleManifest

from eddy_sim.modcheck.composition import Verdict

_CHECKED = """\
# Written by `eddy module check {module}`: this build passed, with the protocol and registers of its manifest.
build: "{build}"
interface: "{interface}"
"""
_SCRUBBED = """\
# Written by `eddy module check {module}`: a reset leaves nothing in this build that a next tenant could tell.
build: "{build}"
secrets: {secrets}
looks: {looks}
cycles: {cycles}
"""


def record_check(folder: Path, manifest: ModuleManifest, build: str, passed: bool) -> None:
    """Write down that a build passed; remove a record of a module that did not.

    Raises:
        InvalidRequest: The folder cannot be written.
    """
    text = _CHECKED.format(module=manifest.module, build=build, interface=manifest.interface)
    _put(folder / CHECK_RECORD, text if passed else None)


def record_scrub(folder: Path, manifest: ModuleManifest, verdict: Verdict | None) -> None:
    """Write down what was verified of a reset; remove what does not hold any more, or is not claimed any more.

    Raises:
        InvalidRequest: The folder cannot be written.
    """
    holds = verdict is not None and verdict.leak is None
    _put(folder / SCRUB_RECORD, _scrubbed(manifest, verdict) if verdict and holds else None)


def _scrubbed(manifest: ModuleManifest, verdict: Verdict) -> str:
    numbers = {"secrets": verdict.secrets, "looks": verdict.looks, "cycles": verdict.cycles}
    return _SCRUBBED.format(module=manifest.module, build=verdict.build, **numbers)


def _put(path: Path, text: str | None) -> None:
    try:
        if text is None:
            path.unlink(missing_ok=True)
        else:
            path.write_text(text, encoding="utf-8")
    except OSError as error:
        message = f"{path} cannot be written ({error.strerror}); --no-record checks without writing it"
        raise InvalidRequest(message, field="record") from error
