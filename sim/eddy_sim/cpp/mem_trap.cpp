// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
// Loads and stores to a faked `/dev/mem`, one 32-bit word at a time, handed to the machine that simulates the board.
//
// The faked file has no bytes, so an access to a mapping of it raises SIGBUS. The handler asks `/proc/self/maps` which
// physical page that is, puts a page of its own in its place, and lets the faulting instruction run alone on it (the
// processor's trap flag): a load finds the word that the machine answered with, and what a store left there is sent to
// the machine. The page is then closed again, so that every access faults. Instructions are never decoded.
//
// x86-64 only. One access at a time: the caller's threads are Python's, and hold its lock while they load or store.

#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <ucontext.h>
#include <unistd.h>

namespace {

constexpr uintptr_t PAGE = 4096;
constexpr int MAX_PAGES = 4096;
constexpr int HUNG = 70;

struct Page {
  uintptr_t at;
  uint64_t physical;
};

struct Request {
  uint32_t write;
  uint32_t value;
  uint64_t address;
};

struct Answer {
  uint32_t status;
  uint32_t value;
};

int g_socket = -1;
Page g_pages[MAX_PAGES];
int g_count = 0;
uintptr_t g_stepping = 0;   // address whose instruction runs alone; 0: none
bool g_stores = false;
uint64_t g_physical = 0;
struct sigaction g_old_bus, g_old_segv, g_old_trap;

[[noreturn]] void say_and_end(const char *message) {
  (void)!write(2, message, strlen(message));
  _exit(HUNG);
}

uint32_t ask(bool store, uint64_t address, uint32_t value) {
  Request request{store, value, address};
  Answer answer{};
  while (send(g_socket, &request, sizeof request, MSG_NOSIGNAL) < 0)
    if (errno != EINTR) say_and_end("faked kernel: the machine is gone\n");
  for (;;) {
    ssize_t got = recv(g_socket, &answer, sizeof answer, 0);
    if (got == sizeof answer) break;
    if (got < 0 && errno == EINTR) continue;
    say_and_end("faked kernel: the machine is gone\n");
  }
  // Nothing answers at this address: on a board the processor waits for ever.
  if (answer.status) say_and_end("faked kernel: the processor hangs: nothing answers on the bus\n");
  return answer.value;
}

Page *find(uintptr_t page) {
  for (int i = 0; i < g_count; ++i)
    if (g_pages[i].at == page) return &g_pages[i];
  return nullptr;
}

uintptr_t hex(const char *&text) {
  uintptr_t value = 0;
  for (;; ++text) {
    char c = *text;
    if (c >= '0' && c <= '9') value = value << 4 | uintptr_t(c - '0');
    else if (c >= 'a' && c <= 'f') value = value << 4 | uintptr_t(c - 'a' + 10);
    else return value;
  }
}

// Physical address of a page of a mapping of the faked file, from one line of maps: "start-end rwxs offset dev inode path".
bool of_line(const char *line, uintptr_t page, uint64_t &physical) {
  const char *text = line;
  uintptr_t start = hex(text);
  ++text;
  uintptr_t end = hex(text);
  if (page < start || page >= end || !strstr(line, "eddy-dev-mem")) return false;
  text += 6;
  physical = hex(text) + (page - start);
  return true;
}

bool look_up(uintptr_t page, uint64_t &physical) {
  int file = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
  if (file < 0) return false;
  static char buffer[1 << 16];
  size_t kept = 0;
  bool found = false;
  for (;;) {
    ssize_t got = read(file, buffer + kept, sizeof buffer - 1 - kept);
    if (got <= 0) break;
    kept += size_t(got);
    buffer[kept] = 0;
    char *line = buffer;
    for (char *newline; !found && (newline = strchr(line, '\n')); line = newline + 1) {
      *newline = 0;
      found = of_line(line, page, physical);
    }
    if (found) break;
    kept -= size_t(line - buffer);
    memmove(buffer, line, kept);
  }
  close(file);
  return found;
}

Page *take_page(uintptr_t page) {
  uint64_t physical;
  if (!look_up(page, physical)) return nullptr;
  Page *entry = find(page);
  if (!entry) {
    if (g_count == MAX_PAGES) say_and_end("faked kernel: too many pages of /dev/mem are mapped\n");
    entry = &g_pages[g_count++];
    entry->at = page;
  }
  entry->physical = physical;
  void *got = mmap(reinterpret_cast<void *>(page), PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
  if (got == MAP_FAILED) say_and_end("faked kernel: cannot put a page in place\n");
  return entry;
}

void pass_on(int number, siginfo_t *info, void *context, const struct sigaction &old) {
  if ((old.sa_flags & SA_SIGINFO) && old.sa_sigaction) return old.sa_sigaction(number, info, context);
  if (old.sa_handler != SIG_DFL && old.sa_handler != SIG_IGN && old.sa_handler) return old.sa_handler(number);
  signal(number, SIG_DFL);  // the instruction runs again and ends the process as it would have
}

void on_fault(int number, siginfo_t *info, void *raw) {
  int kept_errno = errno;
  auto *context = static_cast<ucontext_t *>(raw);
  uintptr_t at = reinterpret_cast<uintptr_t>(info->si_addr), page = at & ~(PAGE - 1);
  Page *entry = number == SIGBUS ? take_page(page) : find(page);
  if (!entry || g_stepping) return pass_on(number, info, raw, number == SIGBUS ? g_old_bus : g_old_segv);
  g_stores = context->uc_mcontext.gregs[REG_ERR] & 2;
  g_physical = (entry->physical + (at - page)) & ~uint64_t(3);
  mprotect(reinterpret_cast<void *>(page), PAGE, PROT_READ | PROT_WRITE);
  g_stepping = at & ~uintptr_t(3);
  if (!g_stores) *reinterpret_cast<volatile uint32_t *>(g_stepping) = ask(false, g_physical, 0);
  context->uc_mcontext.gregs[REG_EFL] |= 0x100;
  errno = kept_errno;
}

void on_step(int number, siginfo_t *info, void *raw) {
  int kept_errno = errno;
  auto *context = static_cast<ucontext_t *>(raw);
  if (!g_stepping) return pass_on(number, info, raw, g_old_trap);
  context->uc_mcontext.gregs[REG_EFL] &= ~greg_t(0x100);
  uintptr_t at = g_stepping;
  g_stepping = 0;
  if (g_stores) ask(true, g_physical, *reinterpret_cast<volatile uint32_t *>(at));
  mprotect(reinterpret_cast<void *>(at & ~(PAGE - 1)), PAGE, PROT_NONE);
  errno = kept_errno;
}

}  // namespace

extern "C" __attribute__((visibility("default"))) int eddy_trap_install(int socket) {
  g_socket = socket;
  struct sigaction action {};
  action.sa_flags = SA_SIGINFO;
  action.sa_sigaction = on_fault;
  if (sigaction(SIGBUS, &action, &g_old_bus) || sigaction(SIGSEGV, &action, &g_old_segv)) return errno;
  action.sa_sigaction = on_step;
  return sigaction(SIGTRAP, &action, &g_old_trap) ? errno : 0;
}
