// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
// What an image prints, by the names that programs for Vortex use: the host's standard output has it when the start ended.
#ifndef EDDY_VX_PRINT_H
#define EDDY_VX_PRINT_H

#include <stdarg.h>

#ifdef __cplusplus
extern "C" {
#endif

// Flags - + space 0 #, width, precision (numbers or *), lengths hh h l ll z, and d i u x X o c s p f F e E g G %.
int vx_vprintf(const char *format, va_list arguments);
int vx_printf(const char *format, ...) __attribute__((format(printf, 1, 2)));
void vx_putchar(int character);
void vx_putint(int value, int base);
void vx_putfloat(float value, int precision);

#ifdef __cplusplus
}
#endif
#endif
