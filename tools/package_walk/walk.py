# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What a person does with an installed Eddy, outside any clone; run by the Python it is installed for.

    python -m package_walk.walk client|serve|sim DOCS FOLDER

`client` looks at the command and the SDK; `serve` also serves a model board and runs a job on it; `sim` also simulates:
a program on a GPU cluster, the demonstration, the same job on the simulated board, and all programs of the tutorials.
`DOCS` is a copy of the pages. A line is printed for each step, with tabs between its name, what it said and its
seconds; the first that fails ends the walk with 1.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from doc_session import Block, BlockFailed, Session, open_session, read_blocks

HERE = Path(__file__).parent
DONE, FAILED = "ok", "FAIL"
"""What the line of a step begins with."""
EXTERNAL = ". .venv", "make demo"
"""Commands of a page that begins with a clone; what is installed has them behind it."""


class Walk:
    """The steps, in a folder that is no clone."""

    def __init__(self, docs: Path, folder: Path) -> None:
        self.docs = docs
        self.folder = folder

    def step(self, name: str, run: Callable[[], str]) -> None:
        """Do one, and print how it went."""
        started_s = time.monotonic()
        try:
            said = run()
        except (BlockFailed, subprocess.TimeoutExpired) as failure:
            print(f"{FAILED} {name}\t{failure}\t{time.monotonic() - started_s:.1f}", flush=True)
            sys.exit(1)
        print(f"{DONE} {name}\t{said}\t{time.monotonic() - started_s:.1f}", flush=True)

    def client(self) -> None:
        """The command and the SDK alone."""
        with open_session(self.folder) as shell:
            self.step("eddy --version", lambda: _version(shell.run("eddy --version")))
            self.step("eddy --help", lambda: f"{len(shell.run('eddy --help').splitlines())} lines")
            self.step("the SDK", lambda: _client(shell.run(f"python {HERE}/sdk_seen.py")))

    def serve(self, board: str = "model") -> None:
        """A server on a board, and a job of its."""
        with open_session(self.folder) as shell:
            command = f"eddy serve --board {board} --data data-{board}"
            self.step(f"eddy serve --board {board}", lambda: shell.run(command) or "serves")
            shell.run(f"export EDDY_KEY=$(cat data-{board}/operator.key)")
            self.step("eddy apps", lambda: f"{len(shell.run('eddy apps').splitlines())} lines")
            self.step("a job by the SDK", lambda: shell.run(f"python {HERE}/one_job.py").strip())
            self.step("eddy jobs", lambda: _has(shell.run("eddy jobs"), "succeeded"))

    def sim(self) -> None:
        """The simulated board: a program, the demonstration, the tutorials."""
        with open_session(self.folder) as shell:
            shown = {block.language: block.text for block in read_blocks(self.docs / "reference/gpu-run.md")[1:3]}
            shell.save("p.S", shown["asm"])
            self.step("eddy gpu run", lambda: _has(shell.run(shown[""]), "E"))
            self.step("eddy demo", lambda: _has(shell.run("eddy demo --out out/demo"), "every result is right"))
        self.serve("rtl")
        for page in (self.docs / f"tutorials/{name}.md" for name in ("first-job", "first-kernel")):
            self.step(f"the tutorial {page.stem}", partial(run_page, page, self.folder))


def run_page(page: Path, folder: Path) -> str:
    """Run the commands and programs of a tutorial, as they stand; how many there were."""
    data = str(folder / f"data-{page.stem}")
    with open_session(
        folder, lambda line: "" if line.strip().startswith(EXTERNAL) else line.replace("/tmp/eddy", data)
    ) as shell:
        blocks = read_blocks(page)
        ran = sum(_run_block(shell, block) for block in blocks)
    return f"{ran} of {len(blocks)} blocks are programs, and ran"


def _run_block(shell: Session, block: Block) -> bool:
    if block.is_shell:
        shell.run(block.text)
    elif block.is_python and block.file:
        shell.save(block.file, block.text)
        if block.file == "alone.py":
            shell.run(f"python {block.file}")
    elif block.is_python:
        shell.python(block.text)
    else:
        return False
    return True


def _version(said: str) -> str:
    first, second = said.splitlines()
    if not re.fullmatch(r"eddy \S+, commit [0-9a-f]{12}( with changes)?", first):
        raise BlockFailed(f"no commit in {first!r}")
    return f"{first}; {second}"


def _client(said: str) -> str:
    found = json.loads(said)
    if found["loaded"] or Path(found["tree"]).name != "shipped":
        raise BlockFailed(said)
    return f"numpy {found['numpy']}"


def _has(said: str, wanted: str) -> str:
    if wanted not in said:
        raise BlockFailed(f"no {wanted!r} in:\n{said}")
    return f"{len(said.splitlines())} lines, {wanted!r} among them"


def main() -> None:
    """Walk."""
    level, docs, folder = sys.argv[1], Path(sys.argv[2]).resolve(), Path(sys.argv[3]).resolve()
    walk = Walk(docs, folder)
    for name in ("client", "serve", "sim"):
        getattr(walk, name)()
        if name == level:
            return


if __name__ == "__main__":
    main()
