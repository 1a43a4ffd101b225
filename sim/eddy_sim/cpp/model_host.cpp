// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
/// Verilator's runtime for models that run in somebody else's process: a model that stops does not end the process, and
/// what it prints, as HLS output does at every interrupt, does not go where that process prints its answers or logs.
#include <cstdarg>
#include <cstdio>
#include <string>

namespace {

/// What a model printed last: `$fatal` and `$error` print their reason before they stop it.
std::string printed;

}  // namespace

int print_of_model(const char* format, ...);

#define VL_USER_FINISH
#define VL_USER_STOP
#define VL_USER_FATAL
#define VL_USER_WARN
#define VL_PRINTF print_of_model
#define VL_READMEM_N verilated_readmem
#include "verilated.cpp"
#include "verilated_threads.cpp"
#undef VL_READMEM_N

#include "model_files.hpp"

int print_of_model(const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  char text[512];
  const int length = std::vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  printed = text;
  while (!printed.empty() && printed.back() == '\n') printed.pop_back();
  return length;
}

namespace {

std::string at(const char* file, int line) {
  const std::string path = file;
  return path.substr(path.find_last_of('/') + 1) + (line ? ":" + std::to_string(line) : "");
}

}  // namespace

void vl_finish(const char* file, int line, const char*) { stop_model("it ends the simulation ($finish) at " + at(file, line)); }

void vl_stop(const char* file, int line, const char*) {
  const std::string why = "it stops at " + at(file, line) + (printed.empty() ? "" : ": " + printed);
  VerilatedContext& context = *Verilated::threadContextp();
  if (context.fatalOnError()) stop_model(why);
  // Whoever steps it looks at `gotError` after each step.
  context.gotError(true);
  context.gotFinish(true);
  std::fprintf(stderr, "%%Error: %s\n", why.c_str());
  std::fflush(stderr);
}

void vl_fatal(const char* file, int line, const char*, const char* message) {
  stop_model(at(file, line) + ": " + message);
}

void vl_warn(const char* file, int line, const char*, const char* message) {
  stop_model(at(file, line) + ": " + message);
}
