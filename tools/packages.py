# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Builds what is committed as packages, twice, and tries them outside the clone; what `make packages` runs.

    tools/packages.py [--python 3.11 ...] [--level client|serve|sim] [--bare SUITE ...] [--out dist]

In `dist` it leaves the source archive, the wheels, their digests with the commit and the tools (`provenance.json`) and
what each extra installs (`sbom-EXTRA.cdx.json`). Then it walks (`package_walk/walk.py`) in an environment of each
Python it finds, as far as that Python goes, and with `--bare` in Debian systems that have nothing but Python (root,
debootstrap).
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from subprocess import DEVNULL

from package_walk import bare, contents
from package_walk.process import Failed, run

ROOT = Path(__file__).resolve().parents[1]
PYTHONS = ("3.10", "3.11", "3.12", "3.13", "3.14")
SIMULATING = ("3.10", "3.11", "3.12")
"""Pythons that there is PYNQ for."""
LEVELS = {"client": "", "serve": "serve", "sim": "demo"}
"""How far a walk goes, and the extra it needs."""
SHIPPED_WITH = ("", "serve", "pool", "s3", "kernels", "otel", "studies", "board", "sim", "demo", "all")
"""Extras whose licences are judged; `module` and `dev` bring what one develops with, and nobody is served with."""
BUILDERS = ("build",)
SUITES = {"bookworm": "3.11", "trixie": "3.13", "sid": "3.14"}
"""Debian releases, and their Python."""


def find_pythons(asked: Sequence[str]) -> dict[str, str]:
    """Interpreters by release: on the path, of pyenv or of uv; those that are not here are left out."""
    found = {}
    folders = [Path.home() / ".pyenv/versions", Path.home() / ".local/share/uv/python"]
    for release in asked:
        kept = [str(path) for folder in folders for path in sorted(folder.glob(f"*{release}.*/bin/python{release}"))]
        for candidate in (*kept, f"python{release}"):
            if (
                shutil.which(candidate)
                and not subprocess.run([candidate, "-c", "import ensurepip"], stderr=DEVNULL).returncode
            ):
                found[release] = candidate
                break
    return found


def clone(folder: Path) -> Path:
    """What is committed, in a folder of its own."""
    run(["git", "clone", "-q", "--no-hardlinks", ROOT, folder])
    return folder


def venv(python: str, folder: Path, *needs: str) -> Path:
    """A virtual environment with the newest pip and packages; its interpreter."""
    run([python, "-m", "venv", folder])
    inside = folder / "bin" / "python"
    run([inside, "-m", "pip", "install", "-q", "--upgrade", "pip", *needs])
    return inside


def build(python: Path, source: Path, out: Path) -> dict[str, str]:
    """Source archive and wheels of a clone; SHA-256 by file name."""
    run([python, "-m", "build", "-o", out, source], EDDY_WHEEL="x86_64")
    for platform in ("aarch64", "any"):
        run([python, "-m", "build", "--wheel", "-o", out, source], EDDY_WHEEL=platform)
    run([python, "-m", "build", "--wheel", "-o", out, source / "studies"], SOURCE_DATE_EPOCH=str(epoch_s(source)))
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted(out.iterdir())}


def epoch_s(source: Path) -> int:
    """When the commit was made, in seconds since 1970."""
    return int(run(["git", "show", "-s", "--format=%ct", "HEAD"], source))


def write_provenance(file: Path, digests: dict[str, str], source: Path, python: Path) -> None:
    """An in-toto statement of what was built of which commit with what; the signature over it is the publisher's."""
    tools = dict(each.split("==") for each in run([python, "-m", "pip", "freeze"]).split() if "==" in each)
    statement = {
        "_type": "https://in-toto.io/Statement/v1",
        "subject": [{"name": name, "digest": {"sha256": digest}} for name, digest in digests.items()],
        "predicateType": "https://slsa.dev/provenance/v1",
        "predicate": {
            "buildDefinition": {
                "buildType": "python -m build; EDDY_WHEEL=PLATFORM python -m build --wheel",
                "externalParameters": {"SOURCE_DATE_EPOCH": epoch_s(source)},
                "resolvedDependencies": [
                    {"name": "eddy", "digest": {"gitCommit": run(["git", "rev-parse", "HEAD"], source).strip()}},
                    *({"name": name, "uri": f"pkg:pypi/{name}@{version}"} for name, version in sorted(tools.items())),
                ],
            },
            "runDetails": {"builder": {"id": "tools/packages.py", "version": {"python": sys.version.split()[0]}}},
        },
    }
    file.write_text(json.dumps(statement, indent=2) + "\n", encoding="utf-8")


def write_contents(python: Path, wheel: Path, out: Path, at_s: int) -> Iterator[str]:
    """A list of what each extra installs; what is wrong with their licences, a line each."""
    for extra in SHIPPED_WITH:
        components = contents.resolve(python, wheel, extra)
        contents.write_sbom(out / f"sbom-{extra or 'client'}.cdx.json", extra, components, at_s)
        yield from (f"{extra or 'client'}: {each}" for each in contents.judge(components))


def walk(python: str, release: str, level: str, wheel: Path, work: Path) -> str:
    """Install the wheel in a new environment and walk, in a folder that is no clone; what was done, a line each."""
    level = level if release in SIMULATING or level == "client" else "serve"
    inside = venv(python, work / f"venv-{release}", f"{wheel}[{LEVELS[level]}]" if LEVELS[level] else str(wheel))
    home = work / f"home-{release}"
    home.mkdir()
    command = [inside, "-m", "package_walk.walk", level, work / "docs", home]
    return run(command, work, XDG_CACHE_HOME=str(work / "cache"))


def put_walk(work: Path) -> None:
    """The walk and the pages, in a folder that is no clone."""
    shutil.copy(ROOT / "tools" / "doc_session.py", work)
    shutil.copytree(ROOT / "tools" / "package_walk", work / "package_walk")
    shutil.copytree(ROOT / "docs", work / "docs")


def build_twice(builder: Path, out: Path, work: Path) -> Path:
    """Build in two clones, one made with another umask, and compare; the wheel of this machine.

    Raises:
        Failed: The bytes differ.
    """
    shutil.rmtree(out, ignore_errors=True)
    first = clone(work / "clone")
    digests = build(builder, first, out)
    before = os.umask(0o077)
    again = build(builder, clone(work / "elsewhere" / "again"), work / "dist-again")
    os.umask(before)
    if digests != again:
        raise Failed(f"two builds of one commit differ: {sorted(set(digests.items()) ^ set(again.items()))}")
    write_provenance(out / "provenance.json", digests, first, builder)
    return next(out.glob("eddy_fpga-*manylinux*x86_64.whl"))


def main() -> int:
    """Do it; 0 where all went well."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument(
        "--python", action="append", default=[], help="a release of Python, as 3.11; several may be named"
    )
    parser.add_argument("--level", default="sim", choices=LEVELS, help="how far to walk")
    parser.add_argument("--bare", action="append", default=[], choices=SUITES, help="also in a bare Debian")
    parser.add_argument("--out", type=Path, default=ROOT / "dist", help="where what is built goes")
    told = parser.parse_args()
    asked = told.python or PYTHONS
    pythons = find_pythons(asked)
    missing = [each for each in asked if each not in pythons]
    say(f"Pythons here: {', '.join(pythons)}; not here: {', '.join(missing) or 'none'}")
    with tempfile.TemporaryDirectory(prefix="eddy-packages-") as scratch:
        try:
            wrong = all_steps(told, pythons, Path(scratch))
        except (Failed, RuntimeError) as failure:
            wrong = [str(failure)]
    for each in wrong:
        say(f"FAILED: {each}")
    return 1 if wrong else 0


def all_steps(told: argparse.Namespace, pythons: Mapping[str, str], work: Path) -> list[str]:
    """Build, write down, walk; what is wrong, and does not keep the other steps from being done."""
    wrong: list[str] = []
    put_walk(work)
    builder = venv(next(iter(pythons.values())), work / "builder", *BUILDERS)
    with step("two builds of one commit, byte by byte"):
        wheel = build_twice(builder, told.out.resolve(), work)
    with step(f"contents and licences of {len(SHIPPED_WITH)} extras"):
        resolver = venv(pythons.get("3.11", next(iter(pythons.values()))), work / "resolver", *BUILDERS)
        wrong += write_contents(resolver, wheel, wheel.parent, epoch_s(work / "clone"))
    for release, python in pythons.items():
        with step(f"Python {release}"):
            wrong += attempt(partial(walk, python, release, told.level, wheel, work))
    for suite in told.bare:
        level = told.level if SUITES[suite] in SIMULATING or told.level == "client" else "serve"
        with step(f"a bare Debian {suite}, Python {SUITES[suite]}"):
            wrong += attempt(partial(bare.walk, suite, ROOT, work, level, LEVELS[level]))
    return wrong


def attempt(walked: Callable[[], str]) -> list[str]:
    """Print what was walked; what failed of it."""
    try:
        print("".join(f"    {line}\n" for line in walked().splitlines()), end="", flush=True)
    except Failed as failure:
        return [str(failure)]
    return []


@contextlib.contextmanager
def step(name: str) -> Iterator[None]:
    """Say what is done, and how long it took."""
    started_s = time.monotonic()
    say(name)
    yield
    say(f"{name}: {time.monotonic() - started_s:.0f} s")


def say(what: str) -> None:
    """Print a line at once."""
    print(f"packages: {what}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
