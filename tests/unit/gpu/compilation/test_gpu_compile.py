# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Compiling kernels: what comes out, what is refused, and in which words."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from eddy.core.errors import CompilationFailed, InvalidRequest, NotFound, QuotaExceeded
from eddy.gpu.compilation import sandbox, toolchain
from eddy.gpu.compilation.compiler import MAX_SOURCE_BYTES, MOST_WORDS, Compiler
from eddy.gpu.compilation.prelude import complete
from eddy.gpu.compilation.program_cache import ProgramCache
from eddy.gpu.compilation.sandbox import ProcessEnd
from eddy.gpu.programs.layout import BLOCK, CONTEXT, REGION_BASE, c_header, rows_bytes, stack_stride
from eddy.gpu.programs.program import Program, segments
from unit.gpu_kit import CACHE, compiled, compiler

SAXPY = """
kernel void saxpy(global float *y, global const float *x, float a) {
  uint i = get_global_id(0);
  y[i] = a * x[i] + y[i];
}
"""


def refused(source: str) -> CompilationFailed:
    with pytest.raises(CompilationFailed) as caught:
        compiler().compile(source)
    return caught.value


def test_arguments_are_described() -> None:
    source = """
    typedef struct { int a; } pair;
    kernel void f(global float4 *v, constant int *c, local uchar *l, short s, float3 w, ulong u, global pair *p) {}
    """
    kernel = compiled(source).kernel("f")
    assert [(a.name, a.space, a.element, a.count, a.size) for a in kernel.arguments] == [
        ("v", "global", "f4", 1, 4),
        ("c", "constant", "i4", 1, 4),
        ("l", "local", "u1", 1, 4),
        ("s", "value", "i2", 1, 2),
        ("w", "value", "f4", 3, 16),
        ("u", "value", "u8", 1, 8),
        ("p", "global", "", 1, 4),
    ]
    assert kernel.offsets() == (0, 4, 8, 12, 16, 32, 40)


def test_only_kernels_that_wait_are_said_to() -> None:
    source = """
    void deep(void) { barrier(CLK_LOCAL_MEM_FENCE); }
    void middle(void) { deep(); }
    kernel void calls(global int *a) { middle(); a[0] = 1; }
    kernel void keeps(global int *a) { local int t[8]; t[get_local_id(0)] = a[0]; a[1] = t[0]; }
    kernel void takes(local int *t) { t[0] = 1; }
    kernel void free_of_it(global int *a) { a[0] = 1; }
    """
    kernels = compiled(source).kernels
    assert {name: (k.waits, k.local_variables) for name, k in kernels.items()} == {
        "calls": (True, False),
        "keeps": (True, True),
        "takes": (True, False),
        "free_of_it": (False, False),
    }


def test_programs_begin_where_the_cores_do_and_local_memory_is_counted() -> None:
    program = compiled("kernel void f(global int *a) { local int t[100]; t[0] = a[0]; a[1] = t[get_global_id(0)]; }")
    first = min(address for address, _, _ in segments(program.elf))
    assert first == REGION_BASE
    assert program.image()[:4] == (0x340021F3).to_bytes(4, "little")  # csrr gp, mscratch
    assert program.local_bytes == 400


def test_messages_have_line_and_column_of_the_tenants_source() -> None:
    error = refused("kernel void f(global int *a) {\n  a[0] = missing;\n}\n")
    assert "kernel.cl:2:10: error: use of undeclared identifier 'missing'" in error.message
    assert error.details["diagnostics"][0] == {
        "file": "kernel.cl",
        "line": 2,
        "column": 10,
        "severity": "error",
        "message": "use of undeclared identifier 'missing'",
    }
    assert error.code == "compilation-failed"


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("int f(int a) { return a; }", "has no kernel"),
        ("void g(int); kernel void f(int a) { g(a); }", "undefined symbol: g"),
        (
            "struct s { global int *a; }; kernel void f(struct s a) {}",
            "struct kernel parameters may not contain pointers",
        ),
        ("int x; kernel void f() {}", "constant address space"),
        (
            "kernel void f() { local int t[1 << 20]; t[get_local_id(0)] = t[1]; }",
            "__local variables take 4 MiB",
        ),
        ('kernel void f() { __asm__ volatile("bogus"); }', "unrecognized instruction"),
    ],
)
def test_refusals_say_why(source: str, words: str) -> None:
    assert words in refused(source).message


def test_warnings_are_kept() -> None:
    warned = compiled("kernel void f(global int *a) { a[0] == 1; }").warnings
    assert "kernel.cl:1:37: warning: equality comparison result unused" in warned
    assert compiled(SAXPY).warnings == ""


def test_every_step_of_the_compiler_is_heard(monkeypatch: pytest.MonkeyPatch) -> None:
    """The assembler and the linker warn too."""

    def run(argv: tuple[str, ...], *rest: bytes, **more: Any) -> ProcessEnd:
        ended = real(argv, *rest, **more)
        return replace(ended, message=b"ld.lld: warning: and this\n") if "ld.lld" in argv else ended

    real = sandbox.run
    monkeypatch.setattr(sandbox, "run", run)
    source = 'kernel void f(global int *a) { a[0] = 1; __asm__(".warning \\"mind this\\""); }'
    warned = compiler()._compile(complete(source, {}), True, "not kept", toolchain.SINGLE).warnings
    assert "<inline asm>:1:2: warning: mind this" in warned
    assert warned.count("mind this\n") == 1
    assert warned.endswith("kernel.cl: warning: and this")
    ended = ProcessEnd(1, b"", b"ld.lld: error: undefined symbol: g\n>>> referenced by kernel.cl\n", "", ())
    with pytest.raises(CompilationFailed, match=r"kernel.cl: error: undefined symbol: g\n>>> referenced by"):
        compiler()._check(ended)


@pytest.mark.parametrize("what", ["crash", "llvm_fatal_error"])
def test_a_compiler_that_breaks_down_says_what_it_said(what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    flags = list(toolchain.OPENCL)
    at = flags.index("-disable-pragma-debug-crash")
    monkeypatch.setattr(toolchain, "OPENCL", tuple(flags[: at - 1] + flags[at + 1 :]))
    said = refused(f"kernel void f() {{}}\n#pragma clang __debug {what}\n").message
    first, second, *_ = said.split("\n")
    assert first.startswith("kernel.cl: error: the compiler broke down on this source, and ended with exit code")
    assert first.endswith("; it said:")
    assert what in said or "clang frontend command failed with exit code 132" in second
    assert "ziglang" not in said


def test_an_account_of_a_crash_has_no_path_of_this_machine() -> None:
    account = f"""PLEASE submit a bug report to https://example.org/ and include the crash backtrace.
Stack dump:
0.\tProgram arguments: {toolchain.executable()} clang -x cl - -o /tmp/secret/place.o
1.\t<eof> parser at end of file
2.\tRunning pass 'RISC-V DAG' on function '@g'
 #0 0x00007f12345678ab llvm::sys::PrintStackTrace (/home/somebody/zig+0x12345678)
"""
    for exit_code, message, words in (
        (-11, account.encode(), "ended by signal 11; it said:"),
        (-6, b"", "ended by signal 6 without a word"),
        (1, b"LLVM ERROR: unsupported\n" + account.encode(), "kernel.cl: fatal error: unsupported"),
    ):
        with pytest.raises(CompilationFailed) as caught:
            compiler()._check(ProcessEnd(exit_code, b"", message, "", ()))
        said = caught.value.message
        assert words in said
        assert ("on function '@g'" in said) == bool(message)
        for secret in ("/home", "/tmp", "ziglang", "7f12345678ab", "12345678"):
            assert secret not in said
    with pytest.raises(CompilationFailed) as caught:
        compiler()._check(ProcessEnd(1, b"", b"kernel.cl:1:1: error: long\n" * 9999, "", ()))
    assert len(caught.value.message) < MOST_WORDS + 100
    assert caught.value.message.endswith("characters in all)")


def test_definitions_reach_the_source_and_cannot_break_out() -> None:
    program = compiler().compile("kernel void f(global int *a) { a[0] = N + M; }", defines={"N": 3, "M": "(4)"})
    assert "f" in program.kernels
    for bad in ({"a b": 1}, {"N": "1\n#error"}, {"N": "1\\"}, {"": 1}):
        with pytest.raises(InvalidRequest, match="Definition"):
            compiler().compile(SAXPY, defines=bad)


def test_equal_sources_are_compiled_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shared = Compiler(tmp_path)
    first = shared.compile(SAXPY)
    monkeypatch.setattr(Compiler, "_compile", lambda *_: pytest.fail("compiled again"))
    assert shared.compile(SAXPY) == first
    assert Compiler(tmp_path).compile(SAXPY) == first


def test_what_one_owner_had_compiled_is_not_found_for_another(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shared, found = Compiler(tmp_path), compiled(SAXPY)
    made: list[bytes] = []

    def count(text: bytes, fpu: bool, digest: str, flags: tuple[str, ...]) -> Program:
        made.append(text)
        return found

    monkeypatch.setattr(shared, "_compile", count)
    for owner, times in (("ada", 1), ("ada", 1), ("grace", 2), ("", 3), ("ada", 3), ("grace", 3)):
        assert shared.compile(SAXPY, owner=owner) == found
        assert len(made) == times, owner


def test_a_damaged_cache_entry_is_compiled_anew(tmp_path: Path) -> None:
    shared = Compiler(tmp_path)
    first = shared.compile(SAXPY)
    (tmp_path / f"{first.digest}.json").write_text('{"digest": 1')
    assert shared.compile(SAXPY) == first


def test_the_cache_forgets_what_was_not_used_for_longest(tmp_path: Path) -> None:
    program = compiled(SAXPY)
    bounded = ProgramCache(tmp_path, 5 * len(program.to_json()) // 2)
    for age, name in ((3, "a"), (1, "b"), (2, "c")):
        bounded.keep(replace(program, digest=name), "")
        os.utime(tmp_path / f"{name}.json", (1000 - age, 1000 - age))
    bounded.keep(replace(program, digest="d"), "")
    assert {file.stem for file in tmp_path.glob("*.json")} == {"b", "d"}


def test_what_is_no_file_in_the_cache_keeps_nobody_waiting_and_is_left_alone(tmp_path: Path) -> None:
    program = compiled(SAXPY)
    bounded = ProgramCache(tmp_path, 1)
    (tmp_path / "folder.json").mkdir()
    os.mkfifo(tmp_path / "pipe.json")
    assert [bounded.find(name, "") for name in ("folder", "pipe")] == [None, None]
    for name in ("folder", "mine"):
        bounded.keep(replace(program, digest=name), "")
    assert {file.stem for file in tmp_path.glob("*.json")} == {"folder", "pipe"}


def test_both_variants_and_definitions_have_names_of_their_own() -> None:
    digests = {compiled(SAXPY).digest, compiled(SAXPY, fpu=False).digest, compiled(SAXPY + "\n").digest}
    digests.add(compiler().compile(SAXPY, defines={"N": 1}).digest)
    assert len(digests) == 4
    assert CACHE.is_dir()


def test_programs_survive_json() -> None:
    program = compiled(SAXPY)
    assert Program.from_json(program.to_json()) == program


def test_unknown_kernels_are_named() -> None:
    with pytest.raises(NotFound, match="its kernels are: saxpy"):
        compiled(SAXPY).kernel("sgemm")


def test_long_sources_are_refused() -> None:
    with pytest.raises(QuotaExceeded):
        compiler().compile(" " * (MAX_SOURCE_BYTES + 1))


def test_the_header_names_every_word() -> None:
    text = c_header()
    assert all(f"#define EDDY_{name.upper()} {4 * k}\n" in text for k, name in enumerate(BLOCK))
    assert all(f"#define EDDY_CTX_{name.upper()} {64 * k}\n" in text for k, name in enumerate(CONTEXT))


@pytest.mark.parametrize("wanted", [1, 64, 100, 2048, 4096])
def test_stacks_of_neighbours_lie_in_different_cache_sets(wanted: int) -> None:
    stride = stack_stride(wanted)
    assert stride >= wanted
    assert (stride // 64) % 2 == 1
    assert rows_bytes(17, 3) == 2 * rows_bytes(16, 3) == 2 * 3 * 64


PASTING = """
#define CALL(kind, name) kind##_##name
#ifdef cl_khr_fp64
#define REAL double
#else
#define REAL float
#endif
#define CONVERT(type) CALL(convert, type)
kernel void f(global float *a) { a[0] = CALL(native, exp)(a[0]) + CONVERT(REAL)(a[1]); }
"""


@pytest.mark.parametrize(
    "asks", ["", "#pragma OPENCL EXTENSION cl_khr_fp64 : enable\nkernel void g(global double *a) {}\n"]
)
def test_a_source_that_pastes_tokens_gets_the_functions_it_makes(
    asks: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """All of them are 140 kB that every step reads."""
    read: list[bytes] = []

    def run(argv: tuple[str, ...], text: bytes = b"", **more: Any) -> ProcessEnd:
        read.append(text if "cl" in argv else b"")
        return real(argv, text, **more)

    real = sandbox.run
    monkeypatch.setattr(sandbox, "run", run)
    made = Compiler(tmp_path).compile(asks + PASTING)
    assert "f" in made.kernels
    assert b"native_exp" in max(read, key=len)
    assert len(complete(PASTING, {}, made=None)) > 3 * max(map(len, read))
    read.clear()
    assert Compiler(tmp_path).compile(asks + PASTING) == made
    assert asks or not read, "what is kept needs no preprocessor"


def test_where_the_preprocessor_refuses_what_is_pasted_the_compiler_says_why() -> None:
    assert "kernel.cl:1:2: error: not here" in refused(f"#error not here\n{PASTING}").message
