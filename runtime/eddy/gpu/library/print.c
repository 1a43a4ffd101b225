// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
// printf of kernels: a record of raw words in the lane's own log. The host puts format and words together, so nothing
// is formatted here, and no two lanes write to the same place.

#include "eddy_types.h"

#define BLOCK(name) ({ u32 v_; __asm__("lw %0, %1(gp)" : "=r"(v_) : "i"(EDDY_##name)); v_; })
#define CONTEXT(name) ({ u32 v_; __asm__ volatile("lw %0, %1(tp)" : "=r"(v_) : "i"(EDDY_CTX_##name)); v_; })
#define CSR(number) ({ u32 v_; __asm__("csrr %0, " #number : "=r"(v_)); v_; })

/// Bytes of a lane's log in use, then how many records found no room.
typedef struct { u32 used, lost; u8 records[]; } lane_log;

/// Whether a conversion ends with this letter; h, l, t, v and z come before it.
static int ends(char c) {
  if (c == 'h' || c == 'l' || c == 't' || c == 'v' || c == 'z') return 0;
  return c == '%' || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
}

static int number(char c) { c |= 32; return c == 'a' || (c >= 'e' && c <= 'g'); }

/// Whether l before this letter says that the argument has 64 bits: `%lf` is a float as `%f` is.
static int whole(char c) { return c == 'd' || c == 'i' || c == 'o' || c == 'u' || (c | 32) == 'x'; }

/// Bytes of a conversion's argument: `count` elements, of a size that the numbers of h and l say.
static u32 size_of(u32 count, u32 h, u32 l) {
  if (!count) return l && !h ? 8 : 4;
  return (count == 3 ? 4 : count) * (h == 2 ? 1 : h && !l ? 2 : l && !h ? 8 : 4);
}

/// A record of one call; `wide`, which its head says, where numbers are double.
static int record(const char *format, __builtin_va_list arguments, int wide) {
  const u32 lane = (CSR(0xcc2) * CSR(0xfc1) + CSR(0xcc1)) * CSR(0xfc0) + CSR(0xcc0);
  const u32 room = BLOCK(LOG_STRIDE) - sizeof(lane_log);
  lane_log *const log = (lane_log *)(BLOCK(LOG_BASE) + lane * BLOCK(LOG_STRIDE));
  u32 *const head = (u32 *)(log->records + log->used);
  u32 bytes = EDDY_LOG_HEAD, local;
  const char *p;

  if (!BLOCK(LOG_BASE)) return -1;
  for (p = format; *p; p++) {
    u32 h = 0, l = 0, count = 0, size, at;
    const u32 *from;
    u32 small[2];
    u64 value;
    if (*p != '%') continue;
    for (p++; *p && !ends(*p); p++) {
      h += *p == 'h';
      l += *p == 'l';
      if (*p == 'v') count = p[1] == '1' ? 16 : (u32)(p[1] - '0');
      if (*p == '*') goto lost;
    }
    if (!*p) break;
    if (*p == '%') continue;
    size = wide && !count && number(*p) ? 8 : size_of(count, h, count || whole(*p) ? l : 0);
    if (count > 16 || log->used + bytes + (size < 8 ? 8 : size) > room) goto lost;
    // What is larger than two registers comes by its address.
    if (size > 8) {
      from = __builtin_va_arg(arguments, const u32 *);
    } else {
      value = size > 4 ? __builtin_va_arg(arguments, u64) : __builtin_va_arg(arguments, u32);
      small[0] = (u32)value;
      small[1] = (u32)(value >> 32);
      from = small;
    }
    for (at = 0; at < size; at += 4) head[(bytes + at) / 4] = from[at / 4];
    bytes += (size + 3) & ~3u;
  }
  if (log->used + bytes > room) goto lost;
  head[0] = bytes | (u32)wide;
  head[1] = (u32)format;
  __asm__("mv %0, t6" : "=r"(local));
  head[2] = CONTEXT(START_0) + (local & EDDY_LOCAL_MASK);
  head[3] = CONTEXT(START_1) + (local >> EDDY_LOCAL_BITS & EDDY_LOCAL_MASK);
  head[4] = CONTEXT(START_2) + (local >> 2 * EDDY_LOCAL_BITS);
  log->used += bytes;
  return 0;
lost:
  log->lost += 1;
  return -1;
}

int printf(const char *format, ...) {
  __builtin_va_list arguments;
  __builtin_va_start(arguments, format);
  const int failed = record(format, arguments, 0);
  __builtin_va_end(arguments);
  return failed;
}
int eddy_printf64(const char *format, ...) {
  __builtin_va_list arguments;
  __builtin_va_start(arguments, format);
  const int failed = record(format, arguments, 1);
  __builtin_va_end(arguments);
  return failed;
}
