# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Every command that installs something, wherever it is printed: it installs Eddy and not a stranger's program."""

from __future__ import annotations

import ast
import platform
import re
import subprocess
import sys
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

import pytest
from eddy.cli.main import app
from eddy.host.distribution import EXTRAS, NAME, STUDIES, find_extra, install_hint, version
from packaging.requirements import Requirement
from typer.testing import CliRunner

ROOT = Path(__file__).resolve().parents[3]
OURS = {"eddy", "eddy_drivers", "eddy_sim"}
SEARCHED = ("*.md", "*.py", "*.ipynb", "*.service", "*.yaml", "*.html", "*.js", "*.toml", "Makefile", "tools/*")
COMMAND = re.compile(r"\bpip[\w.]* +install +([^\n`\\(]+)")
OPTION_WITH_VALUE = {"-c", "-r", "-d", "-w", "--find-links", "--index-url", "--progress-bar"}
WHEEL = re.compile(
    r"(?:\S*/)?eddy_fpga-(?P<version>[^-]+)-py3-none-(manylinux2014_(x86_64|aarch64)|any)\.whl(\[(?P<extras>[^]]*)\])?"
)
NAMED = re.compile(r"(?P<name>[A-Za-z][A-Za-z0-9._-]*)(\[(?P<extras>[^]]*)\])?(==.*)?")


def _project() -> tuple[set[str], set[str]]:
    """Extras of Eddy, and names of what it depends on with all of them."""
    found = metadata.metadata(NAME)
    needs = {Requirement(line).name.lower() for line in metadata.requires(NAME) or ()}
    return set(found.get_all("Provides-Extra") or ()), needs


EXTRA_NAMES, NEEDS = _project()
BUILDERS = {"build"}
"""What makes a wheel; another's, and meant."""


def _files() -> list[Path]:
    done = subprocess.run(["git", "ls-files", *SEARCHED], cwd=ROOT, capture_output=True, text=True, check=True)
    return [ROOT / line for line in done.stdout.split() if "docs/decisions" not in line and (ROOT / line).is_file()]


def _wrong(words: str) -> str:
    """What is wrong with what follows `pip install`; empty for nothing."""
    left = re.sub(r"#.*|[;,:.] .*| && .*|\).*|[\"'] in .*", "", words).replace("'", " ").replace('"', " ").split()
    targets = []
    while left:
        word = left.pop(0)
        if word in OPTION_WITH_VALUE:
            left = left[1:]
        elif not word.startswith("-"):
            targets.append(word.rstrip(".,;:"))
    return next(filter(None, map(_wrong_target, targets)), "") if targets else ""


def _wrong_target(target: str) -> str:
    if "{" in target or "$" in target:  # a variable; what it stands for is found where it is made
        return ""
    if wheel := WHEEL.fullmatch(target):
        return _unknown(target, wheel["extras"]) if wheel["version"] == version() else f"{target}: this is {version()}"
    if target == STUDIES:
        return "" if (ROOT / target / "pyproject.toml").is_file() else f"{target}: nothing to install"
    if local := re.fullmatch(r"\.\[([^]]*)\]", target):
        return _unknown(target, local[1])
    named = NAMED.fullmatch(target)
    if named is None or named["name"].lower() not in {NAME, *NEEDS, *BUILDERS}:
        return f"{target} is another project"
    return _unknown(target, named["extras"]) if named["name"] == NAME else ""


def _unknown(target: str, extras: str | None) -> str:
    unknown = set(filter(None, (extras or "").split(","))) - EXTRA_NAMES
    return f"{target}: no extra {', '.join(unknown)}" if unknown else ""


def test_every_printed_install_command_names_eddy_and_an_extra_there_is() -> None:
    found = {
        f"{path.relative_to(ROOT)}:{text.count(chr(10), 0, match.start()) + 1}": match[1]
        for path in _files()
        if path != Path(__file__)
        for text in [path.read_text(encoding="utf-8", errors="replace")]
        for match in COMMAND.finditer(text)
    }
    assert len(found) > 10, "the search finds nothing"
    assert {where: wrong for where, words in found.items() if (wrong := _wrong(words))} == {}


@pytest.mark.parametrize(
    "words",
    [
        "'eddy[serve]'",
        "eddy",
        "-q 'eddy-fpga[nothing]'",
        "eddy_fpga-0.0.9-py3-none-any.whl",
        "-e '.[nothing]'",
        "requests",
    ],
)
def test_the_search_knows_wrong_commands(words: str) -> None:
    assert _wrong(words)


def test_no_text_asks_for_extras_of_another_project() -> None:
    found = [
        f"{path.relative_to(ROOT)}: {match[0]}"
        for path in _files()
        if path != Path(__file__)
        for match in re.finditer(r"\beddy\[[a-z,]+\]", path.read_text(encoding="utf-8", errors="replace"))
    ]
    assert found == []


def _hinted() -> Iterator[tuple[str, str]]:
    """Where code asks for a hint, and for which extras."""
    for folder in ("runtime", "sim", "drivers", "tools"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.Call) and ast.unparse(node.func) in ("install_hint", "not_installed"):
                    extras = node.args[-1]
                    if isinstance(extras, ast.Constant):
                        yield f"{path.name}:{node.lineno}", str(extras.value)


def test_hints_in_code_are_of_extras_there_are() -> None:
    found = dict(_hinted())
    assert len(found) > 8
    assert {where: extras for where, extras in found.items() if not set(extras.split(",")) <= EXTRA_NAMES} == {}
    assert install_hint("serve") == "pip install 'eddy-fpga[serve]'"


def _imported() -> set[str]:
    """Names of packages that are imported anywhere, of ours and Python's own apart."""
    found = set()
    for folder in ("runtime", "drivers", "sim/eddy_sim"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
                names += [node.module or ""] if isinstance(node, ast.ImportFrom) and not node.level else []
                found |= {name.partition(".")[0] for name in names}
    return found - OURS - set(sys.stdlib_module_names) - {"__future__", ""}


def test_whatever_an_extra_brings_is_known_by_the_extra_that_brings_it() -> None:
    requirements = [Requirement(line) for line in metadata.requires(NAME) or ()]
    base = {each.name.lower() for each in requirements if each.marker is None}
    brings = {
        extra: {r.name.lower() for r in requirements if r.marker is not None and r.marker.evaluate({"extra": extra})}
        for extra in EXTRA_NAMES
    }
    distributions = metadata.packages_distributions()
    wrong = {}
    for module in sorted(_imported()):
        names = {name.lower() for name in distributions.get(module, ())}
        direct = {extra for extra in EXTRA_NAMES if names & brings[extra]}
        if names & base or not direct - {"dev", "pages"}:
            continue  # it comes with the client, or with another package, or with the machine
        if find_extra(module) not in direct:
            wrong[module] = (find_extra(module), direct)
    assert wrong == {}
    assert set(EXTRAS) <= EXTRA_NAMES


@pytest.mark.parametrize(
    ("module", "command"),
    [
        ("highspy", "saturate bitstreams/applications/lenet.yaml --slots 2"),
        ("matplotlib", "reproduce mtf --quick --out {here}"),
        ("cryptography", "app keygen {here}/key"),
        ("pynq", "boardd --board rtl --profile tiny --socket {here}/s"),
        ("pynq", "board-test --board rtl --profile tiny"),
        ("pynq", "calibrate --board rtl --profile tiny"),
        ("fastapi", "serve --board model --data {here}/data"),
        ("nats", "pool up --data {here}/pool"),
    ],
)
def test_a_command_without_its_extra_says_how_to_get_it(module: str, command: str, tmp_path: Path) -> None:
    script = f"import sys; sys.modules[{module!r}] = None\nfrom eddy.__main__ import main\nmain()"
    done = subprocess.run(
        [sys.executable, "-c", script, *command.format(here=tmp_path).split()],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 2, done.stderr
    assert install_hint(str(find_extra(module))) in done.stderr.splitlines()[-1]
    assert "Traceback" not in done.stderr


def test_a_module_that_no_extra_brings_is_a_mistake_of_ours() -> None:
    assert find_extra("nothing.at.all") is None
    assert find_extra("nats.js") == "pool"


def test_the_version_names_the_commit_and_what_a_report_of_a_fault_needs() -> None:
    first, second = CliRunner().invoke(app, ["--version"]).stdout.splitlines()
    head = subprocess.run(["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert re.fullmatch(rf"eddy {re.escape(version())}, commit {head[:12]}( with changes)?", first)
    assert second.startswith(f"Python {platform.python_version()} on ")
    assert f"numpy {metadata.version('numpy')}" in second
