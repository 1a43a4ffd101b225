// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
/// Comparison of memory. Not `memcmp`: where only equality matters clang calls `bcmp`, and the one it brings along goes
/// byte by byte.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>

inline bool same_bytes(const void* one, const void* other, size_t bytes) {
  const unsigned char* a = static_cast<const unsigned char*>(one);
  const unsigned char* b = static_cast<const unsigned char*>(other);
  for (; bytes >= 32; a += 32, b += 32, bytes -= 32) {
    uint64_t x[4], y[4];
    std::memcpy(x, a, 32);
    std::memcpy(y, b, 32);
    if ((x[0] ^ y[0]) | (x[1] ^ y[1]) | (x[2] ^ y[2]) | (x[3] ^ y[3])) return false;
  }
  for (; bytes >= 8; a += 8, b += 8, bytes -= 8) {
    uint64_t x, y;
    std::memcpy(&x, a, 8);
    std::memcpy(&y, b, 8);
    if (x != y) return false;
  }
  for (; bytes; a++, b++, bytes--) {
    if (*a != *b) return false;
  }
  return true;
}
