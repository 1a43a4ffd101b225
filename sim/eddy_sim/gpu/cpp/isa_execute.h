// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
/// The execution of one instruction by the lanes of a warp that are at it.
#pragma once
#include "isa_core.h"

namespace isa {

class Execution {
 public:
  Execution(Core& core, unsigned warp);
  void run();

 private:
  using Lanes = uint32_t;

  bool has(unsigned t) const { return mask_ >> t & 1; }
  uint32_t x1(unsigned t) const { return my_.lane[t].x[rs1_]; }
  uint32_t x2(unsigned t) const { return my_.lane[t].x[rs2_]; }
  uint32_t f1(unsigned t) const { return my_.lane[t].x[32 + rs1_]; }
  uint32_t f2(unsigned t) const { return my_.lane[t].x[32 + rs2_]; }
  uint32_t f3(unsigned t) const { return my_.lane[t].x[32 + (instr_ >> 27)]; }
  void set(unsigned t, uint32_t value);
  void set_float(unsigned t, uint32_t value);

  void integer(bool immediate);
  void load(bool to_float);
  void store(bool from_float);
  void atomic();
  void branch();
  void jump();
  void jump_register();
  void system();
  void csr();
  bool csr_known(uint32_t number, bool writes) const;
  uint32_t csr_read(uint32_t number, unsigned lane) const;
  void csr_write(uint32_t number, unsigned lane, uint32_t value);
  uint64_t counter(uint32_t number) const;
  void fused();
  void floating();
  void warp_control();
  void mask_lanes(bool predicate);
  void join();
  void spawn();
  void barrier();
  void vote();
  void shuffle();

  void trap_each(Lanes lanes, uint32_t cause, const uint32_t* value);
  void trap(Lanes lanes, uint32_t cause, uint32_t value);
  void illegal() { trap(mask_, kIllegal, instr_); }
  bool rounding(unsigned& rm);
  uint8_t* local(uint32_t address);

  Core& core_;
  Warp& my_;
  const unsigned warp_;
  const uint32_t pc_, depth_;
  const Lanes mask_;
  uint32_t instr_;
  unsigned rd_, rs1_, rs2_, funct3_, funct7_, top_, threads_;

  // What comes of it.
  uint32_t next_[kMaxThreads], next_depth_[kMaxThreads];
  Lanes moved_ = 0, trapped_ = 0;
  bool again_ = false, changes_ = false;
  Record record_ = {};
};

}  // namespace isa
