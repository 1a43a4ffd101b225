# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Generates RTL, Python, C and documentation from hw/regs/*.rdl; `--check` fails where a committed file is stale."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from regmap import cheader, markdown, python, rtl, window
from regmap.model import MapSpec, read_map

ROOT = Path(__file__).resolve().parent.parent
RTL = Path("hw/regs/generated")
PYTHON = Path("drivers/eddy_drivers/regs")
DOCS = Path("docs/reference/registers")
HTML = Path("build/docs/registers")
WINDOW = Path("hw/regs/top/window.rdl")
"""What answers where: the one map that is no block's."""

WITH_BANK = {"icap_engine", "kernel_stream", "shell", "slot_ctrl", "stream_port"}
"""Blocks whose registers are plain storage; the others' hardware holds its own and takes only the constants."""


def outputs(spec: MapSpec) -> dict[Path, str]:
    """Every committed file of one map, by path from the project's root."""
    files = {
        RTL / f"{spec.name}_regs_pkg.sv": rtl.package(spec),
        RTL / f"eddy_{spec.name}.h": cheader.header(spec),
        PYTHON / f"{spec.name}.py": python.module(spec),
        DOCS / f"{spec.name}.md": markdown.page(spec),
    }
    if spec.name in WITH_BANK:
        files[RTL / f"{spec.name}_regs.sv"] = rtl.bank(spec)
    return files


def all_outputs(root: Path = ROOT) -> dict[Path, str]:
    """Every committed file of every block's map under `root`/hw/regs, and of the shell's address map."""
    files: dict[Path, str] = {}
    for source in sorted((root / "hw/regs").glob("*.rdl")):
        files.update(outputs(read_map(source)))
    files.update(window.outputs(window.read_window(root / WINDOW)))
    return files


def stale(root: Path = ROOT) -> list[str]:
    """What differs between the sources and the committed files: missing, stale, or left over."""
    files = all_outputs(root)
    found = [f"stale: {p}" for p, text in files.items() if _read(root / p) != text]
    present = [*(root / RTL).glob("*.sv"), *(root / RTL).glob("*.h"), *(root / DOCS).glob("*.md")]
    return found + [f"left over: {p.relative_to(root)}" for p in present if p.relative_to(root) not in files]


def write_html(root: Path = ROOT) -> Path:
    """Write the HTML manual of every map; returns its folder."""
    from peakrdl_html import HTMLExporter  # type: ignore[import-untyped]
    from systemrdl import RDLCompiler

    for source in sorted((root / "hw/regs").glob("*.rdl")):
        compiler = RDLCompiler()
        compiler.compile_file(str(source))
        HTMLExporter().export(compiler.elaborate().top, str(root / HTML / source.stem))
    return root / HTML


def main(argv: list[str] | None = None) -> int:
    """Entry point; returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; fail where a committed file is stale")
    parser.add_argument("--html", action="store_true", help=f"also write the HTML manual under {HTML}")
    args = parser.parse_args(argv)
    if args.check:
        problems = stale()
        for problem in problems:
            print(f"{problem}: run `make regs` and commit what changes")
        return 1 if problems else 0
    for path, text in all_outputs().items():
        (ROOT / path).parent.mkdir(parents=True, exist_ok=True)
        (ROOT / path).write_text(text, encoding="utf-8")
        print(path)
    if args.html:
        print(write_html().relative_to(ROOT))
    return 0


def _read(path: Path) -> str | None:
    return path.read_text(encoding="utf-8") if path.exists() else None


if __name__ == "__main__":
    sys.exit(main())
