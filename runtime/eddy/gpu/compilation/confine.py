# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Has programs run that gave up every right first. Run as a script, by itself; imports nothing of ours.

    python -I -S confine.py SOCKET PARENT

SOCKET is a file descriptor, PARENT a process. Each packet that comes through the socket is a program to run, one after
the other, words with zeros between:

    FILES FOLDER CPU_S MEMORY_BYTES OUTPUT_BYTES PROGRAM ARGUMENTS

FILES is `none` or `folder`; four file descriptors come along: the program's three, and one for the report. The answer
is the process's status, four bytes. Every program is a child of its own; this process reads nothing but packets, and
ends with PARENT or the socket. It is started once a compilation, and a start of Python takes longer than what clang
does with a short kernel, so it imports little.

What a child gives up, in this order: resources (rlimits), the root user's identity, files (Landlock where the kernel
has it) and system calls (a seccomp filter that lets through what computing needs; no file is opened, no process or
socket made, and no other process named, be it one of the same user). The list of what took effect goes to the report.
Without the seccomp filter nothing is started.
"""

from __future__ import annotations

import _socket  # `socket` takes as long as all else here
import ctypes
import os
import resource
import struct
import sys

REFUSED = 125
"""Exit code where the program was not started."""
NOBODY = 65534
STACK_BYTES = 64 << 20
"""More than clang asks for; it may not set it itself."""
LIMITS = ("cpu_s", "memory_bytes", "output_bytes")
"""What is bounded, in the order of the words."""
PACKET_BYTES = 64 << 10
DESCRIPTORS = struct.Struct("4i")
_CLOSE_ON_EXEC = 0x40000000
"""`MSG_CMSG_CLOEXEC`."""

# Numbers of system calls: x86-64, aarch64; -1 where the machine has no such call.
COMPUTE = {
    "read": (0, 63), "write": (1, 64), "close": (3, 57), "fstat": (5, 80), "lseek": (8, 62), "mmap": (9, 222),
    "mprotect": (10, 226), "munmap": (11, 215), "brk": (12, 214), "rt_sigaction": (13, 134),
    "rt_sigprocmask": (14, 135), "rt_sigreturn": (15, 139), "pread64": (17, 67), "pwrite64": (18, 68),
    "readv": (19, 65), "writev": (20, 66), "sched_yield": (24, 124), "mremap": (25, 216), "madvise": (28, 233),
    "getpid": (39, 172), "execve": (59, 221), "exit": (60, 93), "exit_group": (231, 94), "sigaltstack": (131, 132),
    "arch_prctl": (158, -1), "gettid": (186, 178), "futex": (202, 98), "sched_getaffinity": (204, 123),
    "set_tid_address": (218, 96), "clock_gettime": (228, 113), "getrandom": (318, 278), "prlimit64": (302, 261),
    "set_robust_list": (273, 99), "rseq": (334, 293), "execveat": (322, 281), "getrlimit": (97, 163),
    "nanosleep": (35, 101), "gettimeofday": (96, 169),
}  # fmt: skip
FILES = {
    "open": (2, -1), "openat": (257, 56), "stat": (4, -1), "lstat": (6, -1), "newfstatat": (262, 79),
    "statx": (332, 291), "access": (21, -1), "faccessat": (269, 48), "faccessat2": (439, 439),
    "readlink": (89, -1), "readlinkat": (267, 78), "getcwd": (79, 17), "getdents64": (217, 61),
}  # fmt: skip
WRITING = {
    "unlink": (87, -1), "unlinkat": (263, 35), "rename": (82, -1), "renameat": (264, 38), "renameat2": (316, 276),
    "ftruncate": (77, 46), "fallocate": (285, 47), "umask": (95, 166), "fcntl": (72, 25), "sysinfo": (99, 179),
    "uname": (63, 160),
}  # fmt: skip
"""No change of modes: Landlock lets it through for every file of the user."""
ARGUMENTS: dict[str, dict[int, tuple[int, ...]]] = {
    "prlimit64": {0: (0,), 2: (0,)},  # its own limits, to read
    "sched_getaffinity": {0: (0,)},  # its own
    "clock_gettime": {0: tuple(range(8))},  # the system's, and its own; negative ones are other processes'
    "futex": {1: (0, 1, 128, 129, 137, 138, 393)},  # waits and wakes; the kinds that lend priority name a thread
    "fcntl": {1: (1, 2, 3)},  # F_GETFD, F_SETFD, F_GETFL; others name whom a descriptor signals, and make it signal
}
"""What an argument must be for the call to be let through, by its place."""
NUMBERS = {**COMPUTE, **FILES, **WRITING}
AUDIT_ARCH = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
MACHINES = tuple(AUDIT_ARCH)
"""In the order of the numbers."""
ALLOW, KILL, ERRNO = 0x7FFF0000, 0x80000000, 0x00050000
NO_SUCH_FILE, NOT_PERMITTED = 2, 1

LANDLOCK_EXECUTE, LANDLOCK_READ = 1 << 0, 1 << 2
LANDLOCK_FOLDER = 1 << 1 | 1 << 2 | 1 << 3 | 1 << 5 | 1 << 8


def refuse(message: str) -> None:
    """Say why, and end."""
    os.write(2, f"confine: {message}\n".encode())
    os._exit(REFUSED)


def limit(plan: dict[str, int]) -> None:
    """Bound what the program may use."""
    bounds = {
        resource.RLIMIT_CPU: plan["cpu_s"],
        resource.RLIMIT_AS: plan["memory_bytes"],
        resource.RLIMIT_FSIZE: plan["output_bytes"],
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_NOFILE: 32,
        resource.RLIMIT_STACK: STACK_BYTES,
    }
    for what, most in bounds.items():
        hard = resource.getrlimit(what)[1]
        most = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(what, (most, most))


def filter_program(rules: list[tuple[str, int]], machine: str) -> bytes:
    """A seccomp filter: each call has its action where its arguments are among `ARGUMENTS`; all else is refused."""
    load, equal, back, above = 0x20, 0x15, 0x06, 0x35
    refused = (back, 0, 0, ERRNO | NOT_PERMITTED)
    code = [(load, 0, 0, 4), (equal, 1, 0, AUDIT_ARCH[machine]), (back, 0, 0, KILL), (load, 0, 0, 0)]
    # Calls of the x32 kind would pass by other numbers.
    code += [(above, 0, 1, 0x40000000), (back, 0, 0, KILL)]
    for call, action in rules:
        number = NUMBERS[call][MACHINES.index(machine)]
        if number < 0:
            continue
        lines = []
        for place, values in ARGUMENTS.get(call, {}).items():
            # Both machines have the low word first.
            for offset, words in ((16 + 8 * place, values), (20 + 8 * place, (0,))):
                lines.append((load, 0, 0, offset))
                lines += [(equal, len(words) - k, 0, word) for k, word in enumerate(words)]
                lines.append(refused)
        lines.append((back, 0, 0, action))
        code += [(equal, 0, len(lines), number), *lines]
    code.append(refused)
    return b"".join(struct.pack("<HBBI", *line) for line in code)


def allowed(files: str) -> list[tuple[str, int]]:
    """The action of every call that is not refused."""
    rules = [(call, ALLOW) for call in COMPUTE]
    rules += [(call, ALLOW if files == "folder" else ERRNO | NO_SUCH_FILE) for call in FILES]
    if files == "folder":
        rules += [(call, ALLOW) for call in WRITING]
    return rules


def seccomp(libc: ctypes.CDLL, files: str) -> None:
    """Let through only what computing needs, and with `files` = "folder" also what reading and writing files does."""
    machine = os.uname().machine
    if machine not in AUDIT_ARCH:
        refuse(f"no system-call filter for {machine}")
    code = filter_program(allowed(files), machine)
    buffer = ctypes.create_string_buffer(code, len(code))
    program = struct.pack("<H6xQ", len(code) // 8, ctypes.addressof(buffer))
    if libc.prctl(22, 2, ctypes.c_char_p(program), 0, 0):
        refuse(f"this system takes no seccomp filter ({os.strerror(ctypes.get_errno())})")


def landlock(libc: ctypes.CDLL, executable: str, folder: str) -> bool:
    """Leave the executable and, if named, one folder of the file system; False where the kernel cannot."""
    abi = libc.syscall(444, None, ctypes.c_size_t(0), 1)
    if abi < 1:
        return False
    rights = {1: (1 << 13) - 1, 2: (1 << 14) - 1}.get(abi, (1 << 15) - 1)
    attributes = struct.pack("<Q", rights)
    ruleset = libc.syscall(444, ctypes.c_char_p(attributes), ctypes.c_size_t(8), 0)
    if ruleset < 0:
        return False
    rules = [(executable, LANDLOCK_EXECUTE | LANDLOCK_READ)]
    if folder:
        rules.append((folder, LANDLOCK_FOLDER | (1 << 14 if abi >= 3 else 0)))
    for path, allowed in rules:
        handle = os.open(path, os.O_PATH | os.O_CLOEXEC)
        if libc.syscall(445, ruleset, 1, ctypes.c_char_p(struct.pack("<Qi", allowed, handle)), 0):
            return False
        os.close(handle)
    done = bool(libc.syscall(446, ruleset, 0) == 0)
    os.close(ruleset)
    return done


def drop_root() -> bool:
    """Become nobody, if root; False where that is not possible."""
    try:
        os.setgroups([])
        os.setresgid(NOBODY, NOBODY, NOBODY)
        os.setresuid(NOBODY, NOBODY, NOBODY)
    except OSError:
        return False
    return True


def end_with_parent(libc: ctypes.CDLL, parent: int) -> None:
    """End when the process that asked ends, however it does."""
    libc.prctl(1, 9, 0, 0, 0)
    if os.getppid() != parent:
        refuse("the calling process has ended")


def start(words: list[str], report: int) -> None:
    """Confine this process, then execute."""
    files, folder, *bounds = words[: 2 + len(LIMITS)]
    argv = words[2 + len(LIMITS) :]
    libc = ctypes.CDLL(None, use_errno=True)
    parent = os.getppid()
    took = ["limits"]
    limit(dict(zip(LIMITS, map(int, bounds), strict=True)))
    folder = folder if files == "folder" else ""
    program = os.open(argv[0], os.O_RDONLY | os.O_CLOEXEC)
    if folder:
        os.chdir(folder)
    if libc.prctl(38, 1, 0, 0, 0):
        refuse("this system cannot forbid new privileges")
    if landlock(libc, argv[0], folder):
        took.append("landlock")
    if os.getuid() == 0 and drop_root():
        took.append("nobody")
    # Changing the user forgets it, so it comes after.
    end_with_parent(libc, parent)
    took.append("seccomp")
    os.write(report, " ".join(took).encode())
    os.close(report)
    seccomp(libc, files)
    os.execve(program, argv, {})


def run(words: list[str], descriptors: tuple[int, ...]) -> int:
    """The status of a confined program, once it has ended."""
    child = os.fork()
    if child:
        for descriptor in descriptors:
            os.close(descriptor)
        return os.waitpid(child, 0)[1]
    try:
        *ends, report = descriptors
        for number, descriptor in enumerate(ends):
            os.dup2(descriptor, number)
        start(words, report)
    except Exception as error:
        refuse(f"{type(error).__name__}: {error}")
    os._exit(REFUSED)


def main() -> None:
    """Run what comes through the socket."""
    number, parent = map(int, sys.argv[1:])
    os.set_inheritable(number, False)
    end_with_parent(ctypes.CDLL(None, use_errno=True), parent)
    socket = _socket.socket(fileno=number)
    while True:
        packet, along, _, _ = socket.recvmsg(PACKET_BYTES, _socket.CMSG_SPACE(DESCRIPTORS.size), _CLOSE_ON_EXEC)
        if not packet:
            return
        status = run(packet.decode().split("\0"), DESCRIPTORS.unpack(along[0][2]))
        socket.send(status.to_bytes(4, "little"))


if __name__ == "__main__":
    main()
