# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Hostile sources: nothing of the host leaks, and nothing takes for ever."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

import pytest
from eddy.core.errors import CompilationFailed, EddyError, QuotaExceeded
from eddy.gpu.compilation import confine, sandbox, toolchain
from eddy.gpu.compilation.compiler import Compiler
from eddy.gpu.compilation.sandbox import Limits, SandboxUnavailable
from unit.gpu_kit import CACHE, compiler

KERNEL = "\nkernel void f(global int *a) { a[0] = 1; }\n"
SECRET = "a-word-only-this-file-has-9f3b"


@pytest.fixture
def secret(tmp_path: Path) -> Path:
    """A file that every user may read."""
    path = tmp_path / "secret.txt"
    path.write_text(f"{SECRET}\n")
    for folder in (path, *path.parents):
        if folder.owner() == Path.home().owner() and folder.is_relative_to("/tmp"):
            folder.chmod(folder.stat().st_mode | 0o755)
    return path


READERS = (
    '#include "{0}"',
    "#include <{0}>",
    '#import "{0}"',
    '#include_next "{0}"',
    '#embed "{0}"',
    'constant char c[] = {{\n#embed "{0}"\n}};',
    '__asm__(".incbin \\"{0}\\"");',
    '__asm__(".include \\"{0}\\"");',
    'kernel void g(global int *a) {{ __asm__ volatile(".incbin \\"{0}\\""); a[0] = 1; }}',
    '#pragma GCC dependency "{0}"',
    '#pragma clang module load "{0}"',
    '??=include "{0}"',
    '%:include "{0}"',
    '#in\\\nclude "{0}"',
    '#define H "{0}"\n#include H',
    '#pragma comment(lib, "{0}")',
    '_Pragma("GCC dependency \\"{0}\\"")',
    '#line 1 "{0}"\n#error here',
)


@pytest.mark.parametrize("template", READERS)
def test_no_file_is_read(template: str, secret: Path) -> None:
    source = template.format(secret) + KERNEL
    absent = template.format(str(secret) + ".absent") + KERNEL
    said, program = _outcome(source)
    assert SECRET not in said
    assert SECRET.encode() not in program
    # Whether a file exists does not show either.
    missing, _ = _outcome(absent)
    assert missing.replace(".absent", "").replace(str(secret), "") == said.replace(str(secret), "") or (
        _carets(missing) == _carets(said)
    )


def _carets(text: str) -> list[str]:
    """The messages alone, without quoted source."""
    return [re.sub(r"'[^']*'|\"[^\"]*\"", "", line) for line in text.splitlines() if "error" in line]


def _outcome(source: str) -> tuple[str, bytes]:
    try:
        program = compiler().compile(source)
    except CompilationFailed as error:
        return error.message, b""
    return program.warnings, program.elf


@pytest.mark.parametrize("name", ["/etc/passwd", "/etc/hostname", "/proc/self/environ", "/proc/self/exe"])
def test_asking_for_a_file_tells_nothing(name: str) -> None:
    tests = "\n".join(f'#if {test}("{name}")\n#error it is there\n#endif' for test in ("__has_include", "__has_embed"))
    said, _ = _outcome(tests + KERNEL)
    assert "it is there" not in said


LEAKS = (
    "constant char where[] = __FILE__ __BASE_FILE__ __FILE_NAME__;",
    "constant char when[] = __DATE__ __TIME__ __TIMESTAMP__;",
    "#pragma clang __debug crash",
    "#pragma clang __debug parser_crash",
    "#pragma clang __debug llvm_fatal_error",
    "#pragma clang __debug llvm_unreachable",
    "#pragma clang __debug overflow_stack",
    "#pragma clang __debug assert",
    "#pragma message __FILE__",
    "#warning look\n",
    '__asm__(".error \\"x\\"");',
    "int g(void);\nkernel void h(global int *a) { a[0] = g(); }",
    '__asm__(".section .deplibs,\\"MS\\",@llvm_dependent_libraries,1\\n.asciz \\"/etc/passwd\\"\\n");',
    "void memcpy(void) {}",
    "void eddy_run(void) {}",
)


@pytest.mark.parametrize("source", LEAKS)
def test_no_path_of_this_machine_shows(source: str) -> None:
    said, program = _outcome(source + KERNEL)
    shown = said.encode() + program
    for path in (os.getcwd(), str(Path.home()) + "/", sys.prefix, str(toolchain.LIBRARY), str(CACHE), "/tmp/"):
        assert path.encode() not in shown
    for word in (b"ziglang", b"site-packages", b"Stack dump", b"InstalledDir", b"/proc/"):
        assert word not in shown


def test_equal_sources_give_equal_programs(tmp_path: Path) -> None:
    source = "constant char when[] = __DATE__ __TIME__ __TIMESTAMP__ __FILE__;\n" + KERNEL.replace("1", "when[3]")
    assert Compiler(tmp_path / "a").compile(source).elf == Compiler(tmp_path / "b").compile(source).elf


NESTED = "#define A0(...) __VA_ARGS__ __VA_ARGS__\n" + "".join(
    f"#define A{k}(...) A{k - 1}(__VA_ARGS__) A{k - 1}(__VA_ARGS__)\n" for k in range(1, 40)
)
BOMBS = (
    NESTED + "constant int t[] = { A30(1,) };",
    "void g(void) { " + "{" * 5000 + "}" * 5000 + " }",
    "int g(int x) { return " + "(" * 20000 + "x" + ")" * 20000 + "; }",
    "constant int big[1 << 28] = {1};",
)


@pytest.mark.parametrize("source", BOMBS, ids=["macros", "braces", "parentheses", "array"])
def test_bombs_are_bounded(source: str, tmp_path: Path) -> None:
    limits = Limits(cpu_s=2, wall_s=20.0, memory_bytes=1 << 30, output_bytes=4 << 20)
    with pytest.raises((CompilationFailed, QuotaExceeded)):
        Compiler(CACHE, limits).compile(source + KERNEL)


@pytest.mark.parametrize("where", ["clang", "assembler"])
def test_too_little_memory_is_said_with_the_bound(where: str, tmp_path: Path) -> None:
    many = "#define A(x) x+x\n#define B(x) A(A(A(A(x))))\n#define C(x) B(B(B(B(x))))\nint g(void) { return C(C(1)); }"
    source = {"clang": many, "assembler": '__asm__(".rept 1000000000\\n nop\\n.endr");'}[where]
    limits = Limits(memory_bytes=512 << 20)
    with pytest.raises(QuotaExceeded, match="more than 512 MiB of memory"):
        Compiler(tmp_path, limits).compile(source + KERNEL)


def test_a_message_has_a_bound() -> None:
    source = "".join(f"#warning {'x' * 1000}\n" for _ in range(500)) + KERNEL
    assert len(_outcome(source)[0]) <= sandbox.DEFAULT_LIMITS.message_bytes


def test_what_was_given_up_is_reported() -> None:
    ended = sandbox.run((toolchain.executable(), "clang", "--version"))
    assert {"limits", "seccomp"} <= set(ended.protections)


@pytest.mark.parametrize(
    ("call", "refusal"),
    [
        ("open('/etc/passwd')", "FileNotFoundError"),
        ("__import__('os').stat('/etc/passwd')", "FileNotFoundError"),
        ("__import__('os').fork()", "PermissionError"),
        ("__import__('_socket').socket()", "PermissionError"),
        ("__import__('os').kill(1, 0)", "PermissionError"),
        ("__import__('os').setuid(0)", "PermissionError"),
        ("bytearray(1 << 33)", "MemoryError"),
    ],
)
def test_the_filter_refuses(call: str, refusal: str) -> None:
    """The filter itself, put on a Python that has everything it needs loaded."""
    script = (
        f"import sys, ctypes, os, _socket, resource; sys.path.insert(0, {str(Path(confine.__file__).parent)!r})\n"
        "import confine\nlibc = ctypes.CDLL(None, use_errno=True)\n"
        "confine.limit({'cpu_s': 5, 'memory_bytes': 1 << 32, 'output_bytes': 1 << 20})\n"
        "libc.prctl(38, 1, 0, 0, 0)\nconfine.seccomp(libc, 'none')\n"
        f"try:\n    {call}\n    print('done')\nexcept BaseException as error:\n    print(type(error).__name__)\n"
        "sys.stdout.flush()\nos._exit(0)\n"
    )
    import subprocess

    result = subprocess.run([sys.executable, "-I", "-S", "-c", script], capture_output=True, text=True, check=False)
    assert result.stdout.strip() == refusal, result.stderr


def test_without_a_filter_nothing_is_started(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A system whose kernel takes no filter: refused with a code of its own, never compiled unconfined."""
    text = Path(confine.__file__).read_text().replace('"x86_64": 0xC000003E, "aarch64": 0xC00000B7', '"none": 0')
    broken = tmp_path / "confine.py"
    broken.write_text(text)
    monkeypatch.setattr(confine, "__file__", str(broken))
    with pytest.raises(SandboxUnavailable, match="no system-call filter") as caught:
        Compiler(tmp_path).compile(KERNEL)
    assert caught.value.code == "sandbox-unavailable"
    assert isinstance(caught.value, EddyError)


def test_a_program_that_says_nothing_is_ended() -> None:
    limits = Limits(cpu_s=5, wall_s=0.5)
    read_for_ever = (toolchain.executable(), "clang", "-x", "c", "-E", "-")
    # Nothing ends its input: the reader waits until it is stopped.
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sandbox, "_feed", lambda feed, left, selector: (selector.unregister(feed), left)[1])
        assert sandbox.run(read_for_ever, b"x", limits=limits).exceeded == "time"


WHO = """
import os
print(os.getpid(), os.getppid(), sorted(map(int, os.listdir("/proc/self/fd")))[:-1], os.read(0, 9))
"""


def test_programs_of_one_compilation_have_one_parent_and_only_their_own_ends(tmp_path: Path) -> None:
    """Each is confined by itself: what one was given, the next has not."""
    text = Path(confine.__file__).read_text()
    open_to_all = tmp_path / "confine.py"
    open_to_all.write_text(
        text.replace("    seccomp(libc, files)\n", "").replace("if landlock(", "if False and landlock(")
    )
    argv = (os.path.realpath(sys.executable), "-I", "-S", "-c", WHO)
    with pytest.MonkeyPatch.context() as patch, sandbox.shared_process():
        patch.setattr(confine, "__file__", str(open_to_all))
        answers = [sandbox.run(argv, text).output.decode().split(maxsplit=2) for text in (b"first", b"second")]
    (first, parent, ends), (second, same, others) = answers
    assert first != second
    assert parent == same != str(os.getpid())
    assert (ends, others) == ("[0, 1, 2] b'first'\n", "[0, 1, 2] b'second'\n")


def test_a_program_that_is_stopped_leaves_the_next_one_alone() -> None:
    clang = (toolchain.executable(), "clang", "-x", "c", "-E", "-")
    with sandbox.shared_process():
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(sandbox, "_feed", lambda feed, left, selector: (selector.unregister(feed), left)[1])
            assert sandbox.run(clang, b"x", limits=Limits(wall_s=0.5)).exceeded == "time"
        ended = sandbox.run(clang, b"after")
    assert (ended.exit, ended.exceeded) == (0, "")
    assert b"after" in ended.output


def test_a_starting_process_that_was_killed_is_said() -> None:
    argv = (toolchain.executable(), "clang", "--version")
    with sandbox.shared_process() as process:
        assert sandbox.run(argv).exit == 0
        assert process._process is not None
        process._process.kill()
        process._process.wait()
        with pytest.raises(SandboxUnavailable, match="has ended; compile again"):
            sandbox.run(argv)
