# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Check every module that has no record of the build it is: `make records`; `--all` checks those that have one, too."""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from eddy.core.slots import Control
from eddy.packages.manifests import load_module_manifest
from eddy.packages.modules import Scrub
from eddy_sim.design.build import module_build_hash

ROOT = Path(__file__).resolve().parents[1]
FOLDERS = ("bitstreams", "tests/modules")


def without_record(every: bool) -> Iterator[Path]:
    """The manifests of modules whose build has no record of a check, or lacks one that its `scrub: reset` needs."""
    for path in (path for folder in FOLDERS for path in sorted((ROOT / folder).glob("*/manifest.yaml"))):
        manifest, build = load_module_manifest(path), f"{module_build_hash(path):016x}"
        if manifest.control is Control.NONE:
            continue  # nothing that a record would let in
        known = manifest.checked(build) and (manifest.scrub is Scrub.LOAD or manifest.scrubs(build))
        if every or not known:
            yield path


def main() -> int:
    """Check them one after the other; exit 1 where one fails, after the others."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--all", action="store_true", help="also those whose records are of the build they are")
    failed = []
    for path in without_record(parser.parse_args().all):
        if subprocess.run([sys.executable, "-m", "eddy", "module", "check", str(path)], check=False).returncode:
            failed.append(path.parent.name)
    if failed:
        print(f"records: {', '.join(failed)} failed the check and have no record", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
