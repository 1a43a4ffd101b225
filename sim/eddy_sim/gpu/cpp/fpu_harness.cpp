// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
/// Drives the Verilated gpu_fpu as fast as it goes, and checks what only the harness sees: that every request is
/// answered once, with its tag and mask, in the promised order, within the promised time.
///
/// Needs Verilator's output for prefix `Vfpu` and the macros FPU_LANES and FPU_TAG_BITS.
#include <cstdint>
#include <deque>
#include <memory>

#include "Vfpu.h"
#include "verilated.h"

namespace {

constexpr unsigned kTags = 1u << FPU_TAG_BITS;
constexpr unsigned kDiv = 7, kSqrt = 8;
constexpr uint64_t kPatience = 200;  // cycles that ask for an answer and get none before the unit counts as stuck

struct Run {
  uint64_t warps;
  const uint8_t *op, *rm;
  const uint16_t* mask;
  const uint32_t *a, *b, *c;  // [warps][FPU_LANES]
  uint32_t* result;           // [warps][FPU_LANES]
  uint8_t* flags;             // [warps][FPU_LANES]
  uint32_t seed;
  uint32_t idle, stall;  // chance in 256 that a cycle offers no request, or takes no answer
  uint64_t cycles;       // out
  uint64_t failed_warp;  // out
};

enum Verdict { kGood, kUnknownTag, kWrongMask, kWrongOrder, kStuck, kUnsteady };

uint32_t next_random(uint32_t& state) {
  state ^= state << 13;
  state ^= state >> 17;
  state ^= state << 5;
  return state;
}

bool iterative(const Run& run, uint64_t warp) { return run.op[warp] == kDiv || run.op[warp] == kSqrt; }

class Harness {
 public:
  Harness() : context_(new VerilatedContext), top_(context_.get(), "top") {}

  Verdict run(Run& run) {
    reset();
    uint64_t sent = 0, done = 0, silent = 0;
    uint32_t random = run.seed | 1;
    bool offered = false;
    for (run.cycles = 0; done < run.warps; run.cycles++) {
      if (!offered && sent < run.warps && (next_random(random) & 255) >= run.idle) offer(run, sent), offered = true;
      top_.req_valid_i = offered;
      top_.rsp_ready_i = (next_random(random) & 255) >= run.stall;
      top_.eval();
      const bool taken = offered && top_.req_ready_o;
      const bool answered = top_.rsp_valid_o && top_.rsp_ready_i;
      if (answered) {
        const Verdict verdict = collect(run);
        if (verdict != kGood) return verdict;
        done++;
      }
      silent = answered ? 0 : silent + (top_.rsp_ready_i && (offered || sent > done));
      if (silent > kPatience) return kStuck;
      if (taken) {
        order_[iterative(run, sent)].push_back(sent);
        sent++;
        offered = false;
      }
      const bool waits = top_.rsp_valid_o && !answered;
      const uint32_t tag = top_.rsp_tag_o, first = top_.rsp_result_o[0];
      edge();
      if (waits && (!top_.rsp_valid_o || top_.rsp_tag_o != tag || top_.rsp_result_o[0] != first)) return kUnsteady;
    }
    return kGood;
  }

 private:
  void edge() {
    top_.clk_i = 1;
    top_.eval();
    top_.clk_i = 0;
    top_.eval();
  }

  void reset() {
    for (auto& queue : order_) queue.clear();
    top_.clk_i = 0;
    top_.req_valid_i = 0;
    top_.rst_ni = 0;
    for (int i = 0; i < 4; i++) edge();
    top_.rst_ni = 1;
  }

  void offer(const Run& run, uint64_t warp) {
    top_.req_op_i = run.op[warp];
    top_.req_rm_i = run.rm[warp];
    top_.req_mask_i = run.mask[warp];
    top_.req_tag_i = warp % kTags;
    for (unsigned l = 0; l < FPU_LANES; l++) {
      top_.req_a_i[l] = run.a[warp * FPU_LANES + l];
      top_.req_b_i[l] = run.b[warp * FPU_LANES + l];
      top_.req_c_i[l] = run.c[warp * FPU_LANES + l];
    }
  }

  Verdict collect(Run& run) {
    const uint32_t tag = top_.rsp_tag_o;
    for (auto& queue : order_) {
      for (size_t i = 0; i < queue.size(); i++) {
        const uint64_t warp = queue[i];
        if (warp % kTags != tag) continue;
        run.failed_warp = warp;
        if (i != 0) return kWrongOrder;
        if (top_.rsp_mask_o != run.mask[warp]) return kWrongMask;
        for (unsigned l = 0; l < FPU_LANES; l++) {
          run.result[warp * FPU_LANES + l] = top_.rsp_result_o[l];
          run.flags[warp * FPU_LANES + l] = top_.rsp_flags_o[l];
        }
        queue.pop_front();
        return kGood;
      }
    }
    return kUnknownTag;
  }

  std::unique_ptr<VerilatedContext> context_;
  Vfpu top_;
  std::deque<uint64_t> order_[2];  // requests in flight: pipeline, divider
};

}  // namespace

#define EXPORT extern "C" __attribute__((visibility("default")))

EXPORT int fpu_run(Run* run) {
  Harness harness;
  return harness.run(*run);
}
