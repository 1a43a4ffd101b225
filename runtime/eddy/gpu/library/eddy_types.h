// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
// Integers of the device library.
#ifndef EDDY_TYPES_H
#define EDDY_TYPES_H
typedef unsigned char u8;
typedef unsigned int u32;
typedef int s32;
typedef unsigned long long u64;
typedef long long s64;
#endif
