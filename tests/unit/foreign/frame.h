// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
#ifndef FRAME_H
#define FRAME_H
#ifdef RD_WG_SIZE_0
#define NUMBER_THREADS RD_WG_SIZE_0
#else
#define NUMBER_THREADS 64
#endif
#define fp float
typedef struct common_str {
    int frame_rows, rows, cols, place_rows, places;
    long frame_bytes;
    fp scale;
} common_str;
#ifdef __cplusplus
extern "C" void host_only(common_str *);
#endif
#endif
