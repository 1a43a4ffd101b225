// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
#define fp float
#define PER_BOX 100
#define NUMBER_THREADS 128
typedef struct { fp x, y, z; } THREE_VECTOR;
typedef struct { fp v, x, y, z; } FOUR_VECTOR;
typedef struct nei_str { int x, y, z; int number; long offset; } nei_str;
typedef struct box_str { int x, y, z; int number; long offset; int nn; nei_str nei[26]; } box_str;
typedef struct par_str { fp alpha; } par_str;
typedef struct dim_str { int cur_arg; long number_boxes; } dim_str;
