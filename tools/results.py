# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Stored results and what they come from: which commit, and whether that code has changed since.

    .venv/bin/python tools/results.py                     write the marks of the pages again
    .venv/bin/python tools/results.py --record NAME ...   they were made again with the code of HEAD

`tools/results.yaml` names every result that is kept: figures on pages, and files that the code reads. Each has the
command that makes it, the sources whose change may change it, and a hash of these as they were when it was made. Where
it is shown, a page has `<!--result NAME-->...<!--/result-->`. Between the two is written of which commit it is, and
"stale" if the sources are others now. Tests run the check.
"""

from __future__ import annotations

import argparse
import hashlib
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parents[1]
REGISTRY = ROOT / "tools" / "results.yaml"
PAGES = ("README.md", "docs/**/*.md")
MARK = re.compile(r"<!--result (?P<name>[a-z0-9-]+)-->(?P<text>.*?)<!--/result-->")


@dataclass(frozen=True)
class Result:
    """A result that is kept.

    Attributes:
        name: As marks have it.
        commit: With whose code it was made.
        sources: What it follows from: paths of git, `*` across folders; after `!` what is spared of them.
        hash: Of the sources at that commit.
        files: Files that hold it, apart from pages.
    """

    name: str
    command: str
    commit: str
    sources: tuple[str, ...]
    hash: str
    files: tuple[str, ...] = ()

    @property
    def mark(self) -> str:
        """What a page says of it."""
        return f"`{self.commit}`" if self.hash == hash_now(self.sources) else f"`{self.commit}`, stale"


def load(path: Path = REGISTRY) -> dict[str, Result]:
    """Every result, by name."""
    said = yaml.safe_load(path.read_text(encoding="utf-8"))
    return {
        name: Result(
            name,
            entry["command"],
            entry["commit"],
            tuple(entry["sources"]),
            entry["hash"],
            tuple(entry.get("files", ())),
        )
        for name, entry in said.items()
    }


def _git(*arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=True).stdout


def _hash(blobs: Mapping[str, str], sources: Sequence[str]) -> str:
    """Of the files that are sources: their paths and what git calls their contents."""
    wanted = [each for each in sources if not each.startswith("!")]
    spared = [each[1:] for each in sources if each.startswith("!")]
    chosen = [
        f"{blobs[path]} {path}"
        for path in sorted(blobs)
        if any(fnmatch(path, each) for each in wanted) and not any(fnmatch(path, each) for each in spared)
    ]
    if not chosen:
        raise SystemExit(f"no file is one of {', '.join(sources)}")
    return hashlib.sha256("\n".join(chosen).encode()).hexdigest()[:16]


def hash_now(sources: Sequence[str]) -> str:
    """Of the sources as they lie here."""
    return _hash(_Here.blobs(), sources)


def hash_at(sources: Sequence[str], commit: str) -> str:
    """Of the sources at a commit."""
    entries = (line.split(None, 3) for line in _git("ls-tree", "-r", commit).splitlines())
    return _hash({path: blob for _, _, blob, path in entries}, sources)


class _Here:
    """What git would call the files of the working tree; found once."""

    _blobs: dict[str, str] | None = None

    @classmethod
    def blobs(cls) -> dict[str, str]:
        """By path."""
        if cls._blobs is None:
            listed = [line.split(None, 3) for line in _git("ls-files", "-s").splitlines()]
            blobs = {path: blob for _, blob, _, path in listed}
            changed = [path for path in _git("diff", "--name-only", "--no-renames").splitlines() if path in blobs]
            blobs.update({path: blob_of((ROOT / path).read_bytes()) for path in changed if (ROOT / path).is_file()})
            cls._blobs = {path: blob for path, blob in blobs.items() if (ROOT / path).is_file()}
        return cls._blobs


def blob_of(data: bytes) -> str:
    """The name git gives to contents."""
    return hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest()


def pages() -> Iterator[Path]:
    """Where results are shown."""
    for pattern in PAGES:
        yield from sorted(ROOT.glob(pattern))


def marked(text: str, results: Mapping[str, Result]) -> str:
    """A page with its marks as they have to be.

    Raises:
        KeyError: It marks what is no result.
    """
    return MARK.sub(lambda found: f"<!--result {found['name']}-->{results[found['name']].mark}<!--/result-->", text)


def outdated(results: Mapping[str, Result]) -> dict[Path, str]:
    """Pages whose marks are not as they have to be, and how they should read."""
    texts = {path: path.read_text(encoding="utf-8") for path in pages()}
    return {path: fresh for path, text in texts.items() if (fresh := marked(text, results)) != text}


def record(names: Sequence[str], commit: str) -> None:
    """Write down that results are of a commit."""
    text, results = REGISTRY.read_text(encoding="utf-8"), load()
    short = _git("rev-parse", "--short=8", commit).strip()
    for name in names:
        entry = re.compile(rf"(?ms)^({re.escape(name)}:\n(?:(?!^\S).)*?  commit: )\S*\n((?:(?!^\S).)*?  hash: )\S*\n")
        text, count = entry.subn(rf"\g<1>'{short}'\n\g<2>'{hash_at(results[name].sources, commit)}'\n", text)
        if count != 1:
            raise SystemExit(f"{REGISTRY}: {name} has no commit and hash, in this order")
    REGISTRY.write_text(text, encoding="utf-8")


def main() -> int:
    """Record what is named, and write every page's marks."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--record", nargs="+", default=[], metavar="NAME", help="results that were made again")
    parser.add_argument("--commit", default="HEAD", help="with whose code")
    given = parser.parse_args()
    record(given.record, given.commit)
    results = load()
    for path, text in outdated(results).items():
        path.write_text(text, encoding="utf-8")
        print(path.relative_to(ROOT))
    stale = [name for name, result in results.items() if result.mark.endswith("stale")]
    print(f"{len(results)} results, {len(stale)} stale: {', '.join(stale) or 'none'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
