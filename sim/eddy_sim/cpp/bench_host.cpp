// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
/// Verilator's runtime for benches: a module reads its data files and no others.
#include <cstdio>
#include <string>

#define VL_READMEM_N verilated_readmem
#include "verilated.cpp"
#include "verilated_vpi.cpp"
#include "verilated_threads.cpp"
#undef VL_READMEM_N

#include "model_files.hpp"
