# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Rules of the project's own code that no linter holds: every test checks something, and private parts stay private."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
TESTED = ("tests", "sim/rtl")
SOURCES = ("runtime", "drivers", "sim/eddy_sim")
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
CHECKING = {
    *("raises", "warns", "fail"),
    *("prove", "model_validate"),
    *("matches_reference", "restarts", "refuses_illegal", "survives_memory_errors", "carry_out"),
}
"""Calls that raise where something is wrong: of pytest; of proofs and pydantic; of `eddy_sim.modcheck.trials`."""
MEANT_TO_END = {"it_vanishes"}
"""A bench that ends its simulator: `sim/rtl/bench/test_bench.py` looks at what is reported of it."""


TEST = re.compile(r"^(?:async )?def test_\w+\(.*?(?=^(?:def |async def |class |@)|\Z)", re.MULTILINE | re.DOTALL)
CHECK = re.compile(r"^\s+(?:assert|raise)\b|\b(?:raises|assert_\w+)\(", re.MULTILINE)


def to_parse(name: str, text: str) -> bool:
    """Whether a file has helpers, benches, or a test that shows no check at first sight; to parse all takes seconds."""
    if not name.startswith("test_") or "cocotb.test" in text:
        return True
    return any(not CHECK.search(match.group()) for match in TEST.finditer(text))


def trees(folders: Iterable[str]) -> dict[str, ast.Module]:
    paths = (path for folder in folders for path in sorted((ROOT / folder).rglob("*.py")))
    return {str(path.relative_to(ROOT)): ast.parse(path.read_text(encoding="utf-8")) for path in paths}


def functions(tree: ast.AST) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    return (node for node in ast.walk(tree) if isinstance(node, FUNCTIONS))


@dataclass(frozen=True)
class Facts:
    """Of one function: whether it is a test, whether it can fail on purpose, and the names it calls."""

    place: str
    name: str
    test: bool
    checks: bool
    calls: frozenset[str]


def facts(path: str, function: ast.FunctionDef | ast.AsyncFunctionDef) -> Facts:
    calls, checks = set(), False
    for node in ast.walk(function):
        if isinstance(node, (ast.Assert, ast.Raise)):
            checks = True
        elif isinstance(node, ast.Call) and isinstance(node.func, (ast.Name, ast.Attribute)):
            calls.add(node.func.id if isinstance(node.func, ast.Name) else node.func.attr)
    checks = checks or not CHECKING.isdisjoint(calls) or any("assert" in name for name in calls)
    bench = any("cocotb.test" in ast.unparse(decorator) for decorator in function.decorator_list)
    return Facts(path, function.name, bench or function.name.startswith("test_"), checks, frozenset(calls))


def unchecked(parsed: dict[str, ast.Module]) -> list[str]:
    """Tests that neither check anything nor call a helper (by its name, over any number of steps) that does."""
    every = [facts(path, function) for path, tree in parsed.items() for function in functions(tree)]
    helpers = [each for each in every if not each.test]
    good = {each.name for each in helpers if each.checks}
    while new := {each.name for each in helpers if each.name not in good and each.calls & good}:
        good |= new
    return [f"{each.place}: {each.name}" for each in every if each.test and not each.checks and not each.calls & good]


def test_every_test_checks_something() -> None:
    paths = [path for folder in TESTED for path in sorted((ROOT / folder).rglob("*.py"))]
    texts = {str(path.relative_to(ROOT)): path.read_text(encoding="utf-8") for path in paths}
    assert len(texts) > 200
    parsed = {name: ast.parse(text) for name, text in texts.items() if to_parse(Path(name).name, text)}
    assert {name.split(": ")[1] for name in unchecked(parsed)} == MEANT_TO_END


@pytest.mark.parametrize(
    ("body", "missing"),
    [
        ("def test_a():\n    f()", ["a.py: test_a"]),
        ("def test_a():\n    f()\ndef f():\n    g()\ndef g():\n    assert 1", []),
        ("def test_a():\n    with pytest.raises(E):\n        f()", []),
        ("@cocotb.test()\nasync def works(dut):\n    await dut.x", ["a.py: works"]),
        ("def test_a():\n    test_b()\ndef test_b():\n    assert 1", ["a.py: test_a"]),
    ],
)
def test_a_test_without_a_check_is_seen(body: str, missing: list[str]) -> None:
    assert unchecked({"a.py": ast.parse(body)}) == missing
    assert to_parse("test_a.py", body) or not missing


def test_files_whose_tests_all_check_something_are_not_parsed() -> None:
    good, bad = "def test_a():\n    assert 1\n\n\n", "def test_b():\n    f()  # assert nothing\n"
    assert [to_parse("test_a.py", text) for text in (good, bad, good + bad, bad + good)] == [False, True, True, True]


CLASS = re.compile(r"^class (\w+)(?:\(([^)]*)\))?:.*\n((?:[ \t].*\n|\n)*)", re.MULTILINE)
METHOD = re.compile(r"^    (?:async )?def (_\w*[^_\W])\(", re.MULTILINE)


def overridden(texts: Iterable[str]) -> list[str]:
    """Private methods of a class that a class derived from it has as well."""
    classes = [match.groups(default="") for text in texts for match in CLASS.finditer(text)]
    private: dict[str, set[str]] = {}
    for name, _, body in classes:
        private.setdefault(name, set()).update(METHOD.findall(body))
    pairs = ((name, base.split(".")[-1]) for name, bases, _ in classes for base in re.findall(r"[\w.]+", bases))
    return sorted({f"{name}.{each}" for name, base in pairs for each in private[name] & private.get(base, set())})


def test_no_class_overrides_a_private_method_of_another() -> None:
    paths = [path for folder in SOURCES for path in (ROOT / folder).rglob("*.py")]
    assert len(paths) > 300
    assert overridden(path.read_text(encoding="utf-8") for path in paths) == []
    first = "class A:\n    x = 0\n\n    def _f(self):\n        0\n    def __g__(self): 0\n"
    assert overridden([first, first.replace("A", "B(a.A[int])")]) == ["B._f"]


def setters(tree: ast.AST) -> set[str]:
    """What sets a `state`: the object, as the code names it, and the function."""
    found = set()
    for function in functions(tree):
        for node in ast.walk(function):
            if isinstance(node, ast.Attribute) and node.attr == "state" and isinstance(node.ctx, ast.Store):
                found.add(f"{ast.unparse(node.value)} in {function.name}")
    return found


def stated(tree: ast.AST) -> set[str]:
    """States of jobs that are written down as such: the state, and the function."""
    found = set()
    for function in functions(tree):
        for node in ast.walk(function):
            named = [(k.arg, k.value) for k in node.keywords] if isinstance(node, ast.Call) else []
            if isinstance(node, ast.Dict):
                pairs = zip(node.keys, node.values, strict=True)
                named = [(str(key.value), value) for key, value in pairs if isinstance(key, ast.Constant)]
            values = (ast.unparse(value) for name, value in named if name == "state")
            found |= {f"{value} in {function.name}" for value in values if value.startswith("JobState.")}
    return found


def test_a_state_that_is_written_down_is_seen() -> None:
    text = 'def f():\n    g(state=JobState.FAILED)\n    x = {"state": JobState.QUEUED, **y}\n    h(state=job.state)\n'
    assert stated(ast.parse(text)) == {"JobState.FAILED in f", "JobState.QUEUED in f"}


def test_a_job_begins_queued_and_a_record_fails_along_the_table() -> None:
    parsed = trees(["runtime/eddy/core", "runtime/eddy/hypervisor", "runtime/eddy/store"])
    found = {path.split("/", 2)[2]: names for path, tree in parsed.items() if (names := stated(tree))}
    assert found == {
        "core/records.py": {"JobState.FAILED in failed"},
        "store/job_tables/submissions.py": {"JobState.QUEUED in new_record"},
    }


READING = {"open", "print", "input", "exec", "eval", "compile", "__import__", "breakpoint"}
"""Built-in functions through which a pure function would reach what is around it; import-linter sees to modules."""


def reached(tree: ast.AST) -> set[str]:
    """Calls of such functions."""
    calls = (node.func for node in ast.walk(tree) if isinstance(node, ast.Call))
    return {call.id for call in calls if isinstance(call, ast.Name) and call.id in READING}


def test_policies_reach_nothing_by_built_in_functions() -> None:
    parsed = trees(["runtime/eddy/policy", "runtime/eddy/core", "runtime/eddy/market", "runtime/eddy/model"])
    assert len(parsed) > 100
    assert {path: names for path, tree in parsed.items() if (names := reached(tree))} == {}
    assert reached(ast.parse("def f():\n    return open('x').read() + opened(x.open())\n")) == {"open"}


def test_the_state_of_a_job_is_set_only_along_the_table_and_where_it_is_recovered() -> None:
    parsed = trees(["runtime/eddy/hypervisor"])
    found = {path.rsplit("/", 1)[1]: names for path, tree in parsed.items() if (names := setters(tree))}
    assert found.pop("job.py") == {"self in __init__", "self in advance"}
    assert found.pop("job_records.py") == {"job in restore_job"}
    assert found.pop("session.py") == {"self in __init__", "self in move"}
    assert found.pop("stream.py") == {"self in move"}
    # The parts of the machine have the machine's state, which is set once.
    assert {name for names in found.values() for name in names} == {"self in __init__"}


LICENCE = "Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0"
COMMENTED = {
    *(".sv", ".svh", ".v", ".vh", ".rdl", ".xdc", ".dtso", ".tcl"),
    *(".c", ".h", ".hpp", ".cpp", ".cl", ".S", ".ld", ".map"),
    *(".sh", ".js", ".css", ".html", ".sql"),
}
"""Languages whose sources name their licence; lists, manifests and pages are no sources."""
THEIR_AUTHORS = "runtime/eddy/cli/skeleton/"
"""What `eddy module new` copies belongs to whoever goes on from there."""


def unlicensed(paths: Iterable[Path]) -> list[str]:
    """The sources that do not name the licence among their first lines."""
    found = []
    for path in paths:
        if path.suffix in COMMENTED or path.name == "Makefile" or not path.suffix:
            first = path.read_text(encoding="utf-8").splitlines()[:3] or [""]
            if (path.suffix or path.name == "Makefile" or first[0].startswith("#!")) and not any(
                LICENCE in line for line in first
            ):
                found.append(str(path))
    return found


def test_every_source_names_its_licence() -> None:
    folders = ("runtime", "drivers", "hw", "sim", "tests", "tools")
    paths = [path for folder in folders for path in (ROOT / folder).rglob("*") if path.is_file()]
    ours = [path for path in (*paths, ROOT / "Makefile") if THEIR_AUTHORS not in str(path)]
    assert sum(path.suffix == ".sv" for path in ours) > 200
    assert unlicensed(ours) == []


def test_a_source_without_a_licence_is_found(tmp_path: Path) -> None:
    (tmp_path / "good.sv").write_text(f"// {LICENCE}\nmodule good;\nendmodule\n")
    (tmp_path / "bad.sv").write_text("module bad;\nendmodule\n")
    (tmp_path / "bad").write_text("#!/bin/sh\n")
    (tmp_path / "notes").write_text("no source\n")
    assert unlicensed(sorted(tmp_path.iterdir())) == [str(tmp_path / "bad"), str(tmp_path / "bad.sv")]
