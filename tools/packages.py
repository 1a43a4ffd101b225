# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Builds what is committed as packages, twice, and tries them outside the clone; what `make packages` runs.

    tools/packages.py [--python 3.11 ...] [--level client|serve|sim] [--bare SUITE ...] [--out dist]

In `dist` it leaves the source archive, the wheels, their digests with the commit and the tools (`provenance.json`) and
what each extra installs (`sbom-EXTRA.cdx.json`). Then it walks (`package_walk/walk.py`) in an environment of each
Python it finds, as far as that Python goes and with numpy 1 and 2, and with `--bare` in Debian systems that have
nothing but Python (root, debootstrap). It ends with a table: a line a step, with what it took.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from subprocess import DEVNULL

from package_walk import bare, contents
from package_walk.process import Failed, follow, run
from package_walk.table import Steps

ROOT = Path(__file__).resolve().parents[1]
PYTHONS = ("3.10", "3.11", "3.12", "3.13", "3.14")
SIMULATING = ("3.10", "3.11", "3.12")
"""Pythons that there is PYNQ for."""
LEVELS = {"client": "", "serve": "serve", "sim": "demo"}
"""How far a walk goes, and the extra it needs."""
SHIPPED_WITH = ("", "serve", "pool", "s3", "kernels", "otel", "oidc", "studies", "board", "sim", "demo", "all")
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


def clone(folder: Path, source: Path = ROOT) -> Path:
    """What is committed, in a folder of its own."""
    run(["git", "clone", "-q", "--no-hardlinks", source, folder])
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


def walk(steps: Steps, python: str, release: str, level: str, wheel: Path, work: Path) -> None:
    """Install the wheel in new environments, and walk, in folders that are no clone.

    The first goes as far as told with what it brings; a second one has the other numpy, where there is one for this
    Python, and goes as far as a server: what needs PYNQ needs numpy 1.
    """
    level = level if release in SIMULATING or level == "client" else "serve"
    trials: list[tuple[str, tuple[str, ...]]] = [(level, ())]
    if release in SIMULATING:
        trials.append(("serve", ("numpy>=2",)) if level == "sim" else (level, ("numpy<2",)))
    for number, (far, pins) in enumerate(trials):
        where = f"Python {release}" + "".join(f", {pin}" for pin in pins)
        name = f"{release}-{number}"
        target = f"{wheel}[{LEVELS[far]}]" if LEVELS[far] else str(wheel)
        folder = work / f"venv-{name}"
        step = partial(install, python, folder, target, *pins)
        if not steps.do(where, f"install {LEVELS[far] or 'the client'}", step):
            continue
        home = work / f"home-{name}"
        home.mkdir()
        command = [folder / "bin" / "python", "-m", "package_walk.walk", far, work / "docs", home]
        steps.take(where, follow(command, work, XDG_CACHE_HOME=str(work / "cache")))
        shutil.rmtree(folder, ignore_errors=True)  # 1.5 GB each


def install(python: str, folder: Path, *needs: str) -> str:
    """Packages in a new environment; nothing to say."""
    venv(python, folder, *needs)
    return ""


def put_walk(work: Path) -> None:
    """The walk and the pages, in a folder that is no clone."""
    shutil.copy(ROOT / "tools" / "doc_session.py", work)
    shutil.copytree(ROOT / "tools" / "package_walk", work / "package_walk")
    shutil.copytree(ROOT / "docs", work / "docs")


def build_twice(builder: Path, out: Path, work: Path) -> str:
    """Build in two clones, one made with another umask, and compare; the files that were made.

    Raises:
        Failed: The bytes differ.
    """
    shutil.rmtree(out, ignore_errors=True)
    first = clone(work / "clone")
    digests = build(builder, first, out)
    before = os.umask(0o077)
    # Of the first clone: somebody may have committed meanwhile.
    again = build(builder, clone(work / "elsewhere" / "again", first), work / "dist-again")
    os.umask(before)
    if digests != again:
        raise Failed(f"two builds of one commit differ: {sorted(set(digests.items()) ^ set(again.items()))}")
    write_provenance(out / "provenance.json", digests, first, builder)
    return f"{len(digests)} files, {sum((out / name).stat().st_size for name in digests) / 1e6:.1f} MB"


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
    steps = Steps()
    try:
        with tempfile.TemporaryDirectory(prefix="eddy-packages-") as scratch:
            all_steps(steps, told, pythons, Path(scratch))
    finally:  # also of a run that somebody ends
        print(steps.table(), flush=True)
    wrong = len(steps.failed)
    good, all_of_them = len(steps.rows) - wrong, len(steps.rows)
    say(f"{good} of {all_of_them} steps went well; Pythons not here: {', '.join(missing) or 'none'}")
    return 1 if wrong else 0


def all_steps(steps: Steps, told: argparse.Namespace, pythons: Mapping[str, str], work: Path) -> None:
    """Build, write down, walk; one that fails keeps only those from being done that need it."""
    put_walk(work)
    first = next(iter(pythons.values()))
    builder = work / "builder" / "bin" / "python"
    out = told.out.resolve()
    if not steps.do("build", "an environment to build in", partial(install, first, work / "builder", *BUILDERS)):
        return
    if not steps.do("build", "two builds of one commit, byte by byte", lambda: build_twice(builder, out, work)):
        return
    wheel = next(out.glob("eddy_fpga-*manylinux*x86_64.whl"))
    steps.do("build", f"contents and licences of {len(SHIPPED_WITH)} extras", lambda: judge(pythons, wheel, work))
    for release, python in pythons.items():
        walk(steps, python, release, told.level, wheel, work)
    for suite in told.bare:
        level = told.level if SUITES[suite] in SIMULATING or told.level == "client" else "serve"
        where = f"bare Debian {suite}, Python {SUITES[suite]}"
        steps.take(where, bare.walk(suite, ROOT, work, level, LEVELS[level]))


def judge(pythons: Mapping[str, str], wheel: Path, work: Path) -> str:
    """Write down what each extra installs, and judge the licences.

    Raises:
        Failed: One may not be, or pip finds no such set; names each.
    """
    resolver = venv(pythons.get("3.11", next(iter(pythons.values()))), work / "resolver", *BUILDERS)
    try:
        wrong = list(write_contents(resolver, wheel, wheel.parent, epoch_s(work / "clone")))
    except RuntimeError as failure:
        raise Failed(str(failure)) from failure
    if wrong:
        raise Failed("\n".join(wrong))
    return ""


def say(what: str) -> None:
    """Print a line at once."""
    print(f"packages: {what}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
