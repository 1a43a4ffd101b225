# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""A linker taken over by a tenant's text: a program in its place tries what reaches processes of the same user."""

from __future__ import annotations

import ctypes
import errno
import os
import re
import resource
import shutil
import struct
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from eddy.gpu.compilation import confine, sandbox, toolchain

HEADERS = {"x86_64": "x86-linux-any", "aarch64": "aarch64-linux-any"}
MACHINE = os.uname().machine
LANDLOCK = ctypes.CDLL(None).syscall(444, None, ctypes.c_size_t(0), 1) > 0

START = """
#include <asm/unistd.h>
#if defined __x86_64__
static long call(long n, long a, long b, long c, long d, long e) {
  register long r10 __asm__("r10") = d, r8 __asm__("r8") = e;
  __asm__ volatile("syscall" : "+a"(n) : "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8) : "rcx", "r11", "memory");
  return n;
}
__asm__(".globl _start\\n_start: andq $-16, %rsp\\n call begin\\n");
#else
static long call(long n, long a, long b, long c, long d, long e) {
  register long x8 __asm__("x8") = n, x0 __asm__("x0") = a, x1 __asm__("x1") = b, x2 __asm__("x2") = c;
  register long x3 __asm__("x3") = d, x4 __asm__("x4") = e;
  __asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4) : "memory");
  return x0;
}
__asm__(".globl _start\\n_start: bl begin\\n");
#endif
static void number(long n, int end) {
  char text[24];
  int at = 24;
  unsigned long left = n < 0 ? -n : n;
  text[--at] = end;
  do { text[--at] = '0' + left % 10; left /= 10; } while (left);
  if (n < 0) text[--at] = '-';
  call(__NR_write, 1, (long)(text + at), 24 - at, 0, 0);
}
static void show(const char *name, long result) {
  long length = 0;
  while (name[length]) length++;
  call(__NR_write, 1, (long)name, length, 0, 0);
  call(__NR_write, 1, (long)" ", 1, 0, 0);
  number(result, '\\n');
}
#define TRY(name, ...) show(name, call(__VA_ARGS__))
static unsigned long limits[2] = {3, 3}, words[32];
static int word = VICTIM;
__attribute__((used)) void begin(void) {
  BODY
  call(__NR_exit_group, 0, 0, 0, 0, 0);
}
"""


def attack(body: str, victim: int, folder: Path) -> dict[str, int]:
    """What each call of a program answered that runs as the linker does."""
    headers = Path(toolchain.executable()).parent / "lib" / "libc" / "include"
    made, program = folder / "attack.o", folder / "attack"
    source = START.replace("BODY", body).replace("VICTIM", str(victim))
    clang = (toolchain.executable(), "clang", f"--target={MACHINE}-linux-musl", "-O1", "-ffreestanding", "-nostdinc")
    include = (headers / HEADERS[MACHINE], headers / "any-linux-any")
    flags = [f"-I{path}" for path in include] + ["-fno-stack-protector", "-fno-pic", "-x", "c", "-c", "-"]
    subprocess.run([*clang, *flags, "-o", made], input=source.encode(), check=True)
    subprocess.run([toolchain.executable(), "ld.lld", "-static", made, "-o", program], check=True)
    program.chmod(0o755)
    inside = folder / "inside"
    inside.mkdir()
    (inside / "own").write_bytes(b"")
    if os.getuid() == 0:
        for path in (inside, inside / "own"):
            os.chown(path, confine.NOBODY, confine.NOBODY)
    ended = sandbox.run((str(program.resolve()),), b"x" * 64, folder=inside.resolve())
    assert ended.exit == 0, ended
    assert {"limits", "seccomp"} <= set(ended.protections)
    return {name: int(result) for name, result in (line.split() for line in ended.output.decode().splitlines())}


def reachable(path: Path) -> Path:
    """A folder of the tests that the user of a step comes to."""
    for folder in (path, *path.parents) if os.getuid() == 0 else ():
        if folder.is_relative_to("/tmp"):
            folder.chmod(folder.stat().st_mode | 0o011)
    return path


@pytest.fixture
def victim() -> Iterator[subprocess.Popen[bytes]]:
    """A process of the user that a step runs as."""
    whose = confine.NOBODY if os.getuid() == 0 else None
    sleep = shutil.which("sleep")
    assert sleep is not None
    with subprocess.Popen([sleep, "600"], cwd="/", user=whose, group=whose) as process:
        yield process
        process.kill()


def test_no_limit_of_another_process_is_set_or_read(victim: subprocess.Popen[bytes], tmp_path: Path) -> None:
    limits = Path(f"/proc/{victim.pid}/limits")
    before = limits.read_text()
    body = """
      TRY("set", __NR_prlimit64, VICTIM, 7, (long)limits, 0, 0);
      TRY("read", __NR_prlimit64, VICTIM, 7, 0, (long)words, 0);
      TRY("set-first", __NR_prlimit64, 1, 7, (long)limits, 0, 0);
      TRY("set-own", __NR_prlimit64, 0, 7, (long)limits, 0, 0);
      TRY("read-own", __NR_prlimit64, 0, 7, 0, (long)words, 0);
      show("files", words[0]);
    """
    answers = attack(body, victim.pid, tmp_path)
    assert limits.read_text() == before
    refused = dict.fromkeys(("set", "read", "set-first", "set-own"), -errno.EPERM)
    assert answers == {**refused, "read-own": 0, "files": 32}


def test_no_descriptor_signals_another_process(victim: subprocess.Popen[bytes], tmp_path: Path) -> None:
    # Its own descriptors' other ends read and write, which signals whom the descriptor names.
    body = """
      for (int fd = 0; fd < 3; fd++) {
        TRY("F_SETOWN", __NR_fcntl, fd, 8, VICTIM, 0, 0);
        words[0] = 1 | (unsigned long)VICTIM << 32;
        TRY("F_SETOWN_EX", __NR_fcntl, fd, 15, (long)words, 0, 0);
        TRY("F_SETSIG", __NR_fcntl, fd, 10, 9, 0, 0);
        TRY("F_SETFL", __NR_fcntl, fd, 4, 020000, 0, 0);
        TRY("FIOSETOWN", __NR_ioctl, fd, 0x8901, (long)&word, 0, 0);
        TRY("SIOCSPGRP", __NR_ioctl, fd, 0x8902, (long)&word, 0, 0);
        TRY("FIOASYNC", __NR_ioctl, fd, 0x5452, (long)&word, 0, 0);
      }
      TRY("F_NOTIFY", __NR_fcntl, 0, 1026, 1, 0, 0);
      TRY("F_SETLEASE", __NR_fcntl, 0, 1024, 0, 0, 0);
      TRY("F_GETLK", __NR_fcntl, 0, 5, (long)words, 0, 0);
      TRY("F_SETLK", __NR_fcntl, 0, 6, (long)words, 0, 0);
      TRY("F_DUPFD", __NR_fcntl, 0, 0, 5, 0, 0);
      TRY("high-word", __NR_fcntl, 0, 1L << 32 | 8, VICTIM, 0, 0);
      TRY("F_GETFD", __NR_fcntl, 1, 1, 0, 0, 0);
      TRY("F_SETFD", __NR_fcntl, 1, 2, 1, 0, 0);
      for (int k = 0; k < 64; k++) show("written", k);
      call(__NR_read, 0, (long)words, 64, 0, 0);
    """
    answers = attack(body, victim.pid, tmp_path)
    with pytest.raises(subprocess.TimeoutExpired):
        victim.wait(0.2)
    assert (answers.pop("F_GETFD"), answers.pop("F_SETFD"), answers.pop("written")) == (0, 0, 63)
    assert len(answers) == 13
    assert set(answers.values()) == {-errno.EPERM}


REACHING = """
  TRY("kill", __NR_kill, VICTIM, 9, 0, 0, 0);
  TRY("tkill", __NR_tkill, VICTIM, 9, 0, 0, 0);
  TRY("tgkill", __NR_tgkill, VICTIM, VICTIM, 9, 0, 0);
  TRY("rt_sigqueueinfo", __NR_rt_sigqueueinfo, VICTIM, 9, (long)words, 0, 0);
  TRY("rt_tgsigqueueinfo", __NR_rt_tgsigqueueinfo, VICTIM, VICTIM, 9, (long)words, 0);
  TRY("pidfd_open", 434, VICTIM, 0, 0, 0, 0);
  TRY("pidfd_send_signal", 424, 0, 9, 0, 0, 0);
  TRY("pidfd_getfd", 438, 0, 0, 0, 0, 0);
  TRY("process_madvise", 440, 0, (long)words, 1, 4, 0);
  TRY("process_mrelease", 448, 0, 0, 0, 0, 0);
  TRY("sched_setaffinity", __NR_sched_setaffinity, VICTIM, 8, (long)limits, 0, 0);
  TRY("sched_getaffinity", __NR_sched_getaffinity, VICTIM, 256, (long)words, 0, 0);
  TRY("sched_setscheduler", __NR_sched_setscheduler, VICTIM, 5, (long)words, 0, 0);
  TRY("sched_setparam", __NR_sched_setparam, VICTIM, (long)words, 0, 0, 0);
  TRY("sched_setattr", __NR_sched_setattr, VICTIM, (long)words, 0, 0, 0);
  TRY("setpriority", __NR_setpriority, 0, VICTIM, 19, 0, 0);
  TRY("ioprio_set", __NR_ioprio_set, 1, VICTIM, 3 << 13, 0, 0);
  TRY("process_vm_readv", __NR_process_vm_readv, VICTIM, (long)words, 0, (long)words, 0);
  TRY("process_vm_writev", __NR_process_vm_writev, VICTIM, (long)words, 0, (long)words, 0);
  TRY("ptrace", __NR_ptrace, 0x4206, VICTIM, 0, 0, 0);
  TRY("kcmp", __NR_kcmp, VICTIM, VICTIM, 0, 0, 0);
  TRY("prctl", __NR_prctl, 1, 9, 0, 0, 0);
  TRY("setpgid", __NR_setpgid, 0, VICTIM, 0, 0, 0);
  TRY("shmget", __NR_shmget, 0, 4096, 01600, 0, 0);
  TRY("shmctl", __NR_shmctl, 0, 0, 0, 0, 0);
  TRY("semget", __NR_semget, 0, 1, 01600, 0, 0);
  TRY("msgget", __NR_msgget, 0, 01600, 0, 0, 0);
  words[0] = 0; words[1] = 9 | 4UL << 32; words[2] = VICTIM;
  TRY("timer_create", __NR_timer_create, 0, (long)words, (long)limits, 0, 0);
  TRY("setitimer", __NR_setitimer, 0, 0, 0, 0, 0);
  TRY("mq_open", __NR_mq_open, (long)"a", 0, 0, 0, 0);
  TRY("mq_notify", __NR_mq_notify, 0, 0, 0, 0, 0);
  TRY("get_robust_list", __NR_get_robust_list, VICTIM, (long)words, (long)words, 0, 0);
  TRY("migrate_pages", __NR_migrate_pages, VICTIM, 8, (long)words, (long)words, 0);
  TRY("move_pages", __NR_move_pages, VICTIM, 0, 0, 0, 0);
  TRY("perf_event_open", __NR_perf_event_open, (long)words, VICTIM, -1, -1, 0);
  TRY("io_uring_setup", 425, 1, (long)words, 0, 0, 0);
  TRY("clock_gettime", __NR_clock_gettime, (int)(~(unsigned)VICTIM << 3 | 2), (long)words, 0, 0, 0);
  word = VICTIM;
  TRY("futex-priority", __NR_futex, (long)&word, 8, 0, 0, 0);
  TRY("futex-priority-own", __NR_futex, (long)&word, 8 | 128, 0, 0, 0);
  TRY("fchmod", __NR_fchmod, 1, 0777, 0, 0, 0);
  TRY("fchmodat", __NR_fchmodat, -100, (long)"own", 0777, 0, 0);
  TRY("fchmodat2", 452, -100, (long)"own", 0777, 0, 0);
"""


def test_no_call_reaches_another_process(victim: subprocess.Popen[bytes], tmp_path: Path) -> None:
    answers = attack(REACHING, victim.pid, tmp_path)
    assert len(answers) == REACHING.count("TRY(")
    assert {name: answer for name, answer in answers.items() if answer != -errno.EPERM} == {}
    assert victim.poll() is None


def test_modes_of_files_stay(tmp_path: Path) -> None:
    """Landlock says nothing of modes, so a path outside the folder would do."""
    other = reachable(tmp_path) / "other"
    other.write_text("")
    other.chmod(0o600)
    if os.getuid() == 0:
        os.chown(other, confine.NOBODY, confine.NOBODY)
    answers = attack(f'TRY("fchmodat", __NR_fchmodat, -100, (long)"{other.resolve()}", 0777, 0, 0);', 1, tmp_path)
    assert (answers, other.stat().st_mode & 0o777) == ({"fchmodat": -errno.EPERM}, 0o600)


@pytest.mark.parametrize("landlock", [True, False])
def test_files_of_the_user_are_held_by_landlock_alone(
    landlock: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """What the warning and the reference say of a system without it."""
    other = reachable(tmp_path) / "other"
    other.write_text("before")
    if os.getuid() == 0:
        os.chown(other, confine.NOBODY, confine.NOBODY)
    body = f"""
      long fd = call(__NR_openat, -100, (long)"{other.resolve()}", 2, 0, 0);
      show("open", fd < 0 ? fd : 0);
      call(__NR_write, fd, (long)"after ", 6, 0, 0);
    """
    monkeypatch.setattr(sandbox, "_warned", False)
    if not landlock:
        without = tmp_path / "confine.py"
        without.write_text(Path(confine.__file__).read_text().replace("if landlock(", "if False and landlock("))
        monkeypatch.setattr(confine, "__file__", str(without))
    elif not LANDLOCK:
        pytest.skip("this system has no Landlock")
    answers = attack(body, 1, tmp_path)
    assert answers == {"open": -errno.EACCES if landlock else 0}
    assert other.read_text() == ("before" if landlock else "after ")
    said = "read, write, rename and delete every file that its user may"
    assert (said in caplog.text) is not landlock


@pytest.mark.parametrize("machine", confine.MACHINES)
def test_the_numbers_are_the_kernels(machine: str) -> None:
    headers = Path(toolchain.executable()).parent / "lib" / "libc" / "include"
    clang = (
        toolchain.executable(),
        "clang",
        f"--target={machine}-linux-musl",
        "-nostdinc",
        "-E",
        "-dM",
        "-x",
        "c",
        "-",
    )
    include = [f"-I{headers / HEADERS[machine]}", f"-I{headers / 'any-linux-any'}"]
    text = b"#include <asm/unistd.h>\n"
    macros = subprocess.run(
        [*clang, *include, "-E", "-dM", "-x", "c", "-"], input=text, capture_output=True, check=True
    ).stdout.decode()
    defined = dict(re.findall(r"#define __NR(?:3264)?_(\w+) (\w+)", macros))
    column = confine.MACHINES.index(machine)
    for name, numbers in confine.NUMBERS.items():
        given = defined.get(name) or defined.get({"newfstatat": "fstatat"}.get(name, name), "-1")
        while given.startswith("__NR"):
            given = defined[re.sub(r"__NR(?:3264)?_", "", given)]
        assert int(given) == numbers[column], name


def action(machine: str, call: str, *arguments: int, files: str = "folder") -> int:
    """What the filter says to a call, by the rules of the kernel's machine for filters."""
    code = list(struct.iter_unpack("<HBBI", confine.filter_program(confine.allowed(files), machine)))
    number = confine.NUMBERS[call][confine.MACHINES.index(machine)]
    words = [value & (1 << 64) - 1 for value in (*arguments, *(6 - len(arguments)) * (0,))]
    data = struct.pack("<iIQ6Q", number, confine.AUDIT_ARCH[machine], 0, *words)
    at = loaded = 0
    while True:
        operation, then, otherwise, k = code[at]
        at += 1
        if operation == 0x20:
            loaded = struct.unpack_from("<I", data, k)[0]
        elif operation == 0x06:
            return int(k)
        else:
            at += then if {0x15: loaded == k, 0x35: loaded >= k}[operation] else otherwise


@pytest.mark.parametrize("machine", confine.MACHINES)
def test_arguments_are_held_on_both_machines(machine: str) -> None:
    refused, high = confine.ERRNO | errno.EPERM, 1 << 32
    for pid, limit in ((1, 0), (high, 0), (-1, 0), (0, 1), (0, high)):
        assert action(machine, "prlimit64", pid, 7, limit) == refused
    assert action(machine, "prlimit64", 0, 7, 0, 1 << 40) == confine.ALLOW
    through = {k for k in range(1100) if action(machine, "fcntl", 1, k) == confine.ALLOW}
    assert through == {1, 2, 3}
    assert action(machine, "fcntl", 1, 2 | high) == refused
    assert action(machine, "fcntl", 1, 1, files="none") == refused
    assert [action(machine, "sched_getaffinity", pid) for pid in (0, 1, high)] == [confine.ALLOW, refused, refused]
    assert action(machine, "clock_gettime", -6) == refused
    for files, opened in (("none", confine.ERRNO | errno.ENOENT), ("folder", confine.ALLOW)):
        assert action(machine, "openat", -100, 1, 2, files=files) == opened
        assert action(machine, "read", 5, 1 << 40, 3, files=files) == confine.ALLOW


def test_a_step_has_the_stack_it_may_not_ask_for(tmp_path: Path) -> None:
    body = 'TRY("read", __NR_prlimit64, 0, 3, 0, (long)words, 0); show("soft", words[0] >> 20);'
    hard = resource.getrlimit(resource.RLIMIT_STACK)[1]
    most = confine.STACK_BYTES if hard == resource.RLIM_INFINITY else min(hard, confine.STACK_BYTES)
    assert attack(body, 1, tmp_path) == {"read": 0, "soft": most >> 20}
