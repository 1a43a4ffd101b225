// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
// Entry of a bench that is loaded into a Python process (`eddy_sim.bench_process`).
//
// cocotb's own main is compiled into a shared object: its interpreter is the process's, so no shared libpython is needed.

#include <unistd.h>

#include <cstdio>
#include <memory>
#include <string>

#include "Vtop.h"
#include "verilated.h"
#include "verilated_vpi.h"

#define main cocotb_main
#include "verilator.cpp"
#undef main

// Runs the simulation and ends the process: cocotb finalises Python, so there is no caller left to return to.
extern "C" [[noreturn]] void eddy_bench_main(int argc, char **argv) {
    const int status = cocotb_main(argc, argv);
    std::fflush(nullptr);
    _exit(status);
}
