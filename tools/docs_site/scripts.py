# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Scripts that the generator's pages would fetch from a content network, put into the site: it needs no network then.

npm brings them (MIT, both): `iframe-worker`, by which search works in pages that are opened as files, and `mermaid`,
which draws the diagrams. They are kept below `build/`, and are in the pages that use them.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tarfile
from pathlib import Path

WORKER, DIAGRAMS = ("iframe-worker@1.0.4", "package/shim/index.js"), ("mermaid@11.17.2", "package/dist/mermaid.min.js")
FETCHED = "https://unpkg.com/iframe-worker/shim"
"""What the generator writes into each page."""


def put_scripts(out: Path, kept: Path) -> None:
    """Put them below a site's `assets/`, and lead its pages to them.

    Args:
        kept: Where scripts stay between builds.
    """
    folder = out / "assets" / "javascripts"
    for (package, inside), name in ((WORKER, "shim.js"), (DIAGRAMS, "mermaid.min.js")):
        shutil.copyfile(_script(package, inside, kept), folder / name)
    for page in out.rglob("*.html"):
        text = page.read_text(encoding="utf-8")
        scripts = os.path.relpath(folder, page.parent)
        changed = text.replace(FETCHED, f"{scripts}/shim.js")
        if 'class="mermaid"' in text:
            drawn = f'<script src="{scripts}/mermaid.min.js"></script>'
            changed = changed.replace("</head>", f"{drawn}</head>", 1)
        if changed != text:
            page.write_text(changed, encoding="utf-8")


def _script(package: str, inside: str, kept: Path) -> Path:
    target = kept / f"{package.replace('@', '-')}.js"
    if not target.is_file():
        npm = shutil.which("npm")
        if npm is None:
            raise SystemExit(f"site: {package} comes by npm, which is not here (Debian: apt-get install npm)")
        kept.mkdir(parents=True, exist_ok=True)
        done = subprocess.run([npm, "pack", "--silent", package], cwd=kept, capture_output=True, text=True, check=True)
        with tarfile.open(kept / done.stdout.split()[-1]) as archive:
            found = archive.extractfile(inside)
            assert found is not None
            target.write_bytes(found.read())
    return target
