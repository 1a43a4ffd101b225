// printf of kernels: a record of raw words in the lane's own log. The host puts format and words together, so nothing
// is formatted here, and no two lanes write to the same place.

#include "eddy_types.h"

#define BLOCK(name) ({ u32 v_; __asm__("lw %0, %1(gp)" : "=r"(v_) : "i"(EDDY_##name)); v_; })
#define CONTEXT(name) ({ u32 v_; __asm__ volatile("lw %0, %1(tp)" : "=r"(v_) : "i"(EDDY_CTX_##name)); v_; })
#define CSR(number) ({ u32 v_; __asm__("csrr %0, " #number : "=r"(v_)); v_; })

/// Bytes of a lane's log in use, then how many records found no room.
typedef struct { u32 used, lost; u8 records[]; } lane_log;

int printf(const char *format, ...) {
  const u32 lane = (CSR(0xcc2) * CSR(0xfc1) + CSR(0xcc1)) * CSR(0xfc0) + CSR(0xcc0);
  const u32 room = BLOCK(LOG_STRIDE) - sizeof(lane_log);
  lane_log *const log = (lane_log *)(BLOCK(LOG_BASE) + lane * BLOCK(LOG_STRIDE));
  u32 *const head = (u32 *)(log->records + log->used);
  u32 bytes = EDDY_LOG_HEAD;
  const char *p;
  __builtin_va_list arguments;

  if (!BLOCK(LOG_BASE)) return -1;
  __builtin_va_start(arguments, format);
  for (p = format; *p; p++) {
    u32 wide = 0;
    if (*p != '%') continue;
    for (p++; *p && !(*p >= 'a' && *p <= 'z' && *p != 'h' && *p != 'l') && !(*p >= 'A' && *p <= 'Z') && *p != '%'; p++) {
      wide |= *p == 'l';
      if (*p == '*') goto lost;
    }
    if (!*p) break;
    if (*p == '%') continue;
    if (log->used + bytes + 8 > room) goto lost;
    if (wide) {
      const u64 value = __builtin_va_arg(arguments, u64);
      *(u32 *)((u8 *)head + bytes) = (u32)value;
      *(u32 *)((u8 *)head + bytes + 4) = (u32)(value >> 32);
      bytes += 8;
    } else {
      *(u32 *)((u8 *)head + bytes) = __builtin_va_arg(arguments, u32);
      bytes += 4;
    }
  }
  __builtin_va_end(arguments);
  if (log->used + bytes > room) goto lost;
  head[0] = bytes;
  head[1] = (u32)format;
  head[2] = CONTEXT(GLOBAL_ID_0);
  head[3] = CONTEXT(GLOBAL_ID_1);
  head[4] = CONTEXT(GLOBAL_ID_2);
  log->used += bytes;
  return 0;
lost:
  log->lost += 1;
  return -1;
}
