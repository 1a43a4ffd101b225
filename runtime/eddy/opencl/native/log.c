// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
// The log: a line for every refusal, to the file that EDDY_OPENCL_LOG names ("-" for standard error), or nowhere.
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "eddy.h"

static int log_file(void) {
    static int file = -2;
    if (file != -2) return file;
    const char *path = getenv("EDDY_OPENCL_LOG");
    if (!path || !*path) return file = -1;
    return file = strcmp(path, "-") ? open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600) : 2;
}

static void write_line(const char *head, const char *format, va_list arguments) {
    int file = log_file();
    if (file < 0) return;
    char line[1024];
    int size = snprintf(line, sizeof line, "eddy-opencl %d: %s", (int)getpid(), head);
    if (size > 0 && size < (int)sizeof line) vsnprintf(line + size, sizeof line - (size_t)size - 1, format, arguments);
    size_t length = strlen(line);
    line[length++] = '\n';
    if (write(file, line, length) < 0) return; // a full disk is no reason to stop a host
}

void say(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    write_line("", format, arguments);
    va_end(arguments);
}

static void write_refusal(const char *function, cl_int code, const char *format, va_list arguments) {
    char head[128];
    snprintf(head, sizeof head, "%s: %d: ", function, code);
    write_line(head, format, arguments);
}

cl_int refuse(const char *function, cl_int code, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    write_refusal(function, code, format, arguments);
    va_end(arguments);
    return code;
}

void *refuse_null(const char *function, cl_int *errcode_ret, cl_int code, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    write_refusal(function, code, format, arguments);
    va_end(arguments);
    if (errcode_ret) *errcode_ret = code;
    return NULL;
}
