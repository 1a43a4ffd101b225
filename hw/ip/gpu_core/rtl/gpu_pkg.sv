// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
/// What the blocks of a GPU core agree on: instruction classes, operations, CSR numbers, causes.
package gpu_pkg;

  /// Bytes of a cache line; also the reach of one memory access of a warp.
  parameter int unsigned LineBytes = 64;
  parameter int unsigned LineBits = 8 * LineBytes;
  parameter int unsigned LineOffset = $clog2(LineBytes);
  parameter int unsigned LineAddrWidth = 32 - LineOffset;

  /// Where a core is in the life of a kernel.
  typedef enum logic [1:0] { Idle, Clear, Run, Drain } state_e;

  /// Who executes an instruction.
  typedef enum logic [3:0] {
    UnitIllegal = 4'd0,
    UnitAlu     = 4'd1,
    UnitBranch  = 4'd2,
    UnitJal     = 4'd3,
    UnitJalr    = 4'd4,
    UnitLoad    = 4'd5,
    UnitStore   = 4'd6,
    UnitFence   = 4'd7,
    UnitMulDiv  = 4'd8,
    UnitCsr     = 4'd9,
    UnitSystem  = 4'd10,  ///< ecall, ebreak, mret, wfi
    UnitWarp    = 4'd11,  ///< tmc, wspawn, split, join, bar, pred
    UnitLane    = 4'd12,  ///< vote, shuffle
    UnitFpu     = 4'd13,
    UnitAmo     = 4'd14
  } unit_e;

  /// A set of units: whether one is in it is one look, where a comparison with each is one for each.
  typedef logic [15:0] units_t;

  function automatic units_t only(unit_e unit);
    return units_t'(1) << unit;
  endfunction

  /// Who makes accesses of the data cache; whose warp waits for it there.
  parameter units_t MemoryUnits = only(UnitLoad) | only(UnitStore) | only(UnitFence) | only(UnitAmo);
  parameter units_t FenceUnits = only(UnitFence) | only(UnitAmo);

  typedef enum logic [3:0] {
    AluAdd  = 4'd0,
    AluSll  = 4'd1,
    AluSlt  = 4'd2,
    AluSltu = 4'd3,
    AluXor  = 4'd4,
    AluSrl  = 4'd5,
    AluOr   = 4'd6,
    AluAnd  = 4'd7,
    AluSub  = 4'd8,
    AluWord = 4'd9,   ///< the same for all lanes: pc + immediate (auipc), or the immediate (lui)
    AluA    = 4'd10,  ///< first operand as it is (fmv)
    AluSra  = 4'd13
  } alu_e;

  /// funct3 of the thread-control instructions (CUSTOM0, funct7 = 0).
  parameter logic [2:0] WarpTmc    = 3'd0;
  parameter logic [2:0] WarpWspawn = 3'd1;
  parameter logic [2:0] WarpSplit  = 3'd2;
  parameter logic [2:0] WarpJoin   = 3'd3;
  parameter logic [2:0] WarpBar    = 3'd4;
  parameter logic [2:0] WarpPred   = 3'd5;

  /// System instructions, as the decoder numbers them.
  parameter logic [2:0] SysEcall  = 3'd0;
  parameter logic [2:0] SysEbreak = 3'd1;
  parameter logic [2:0] SysMret   = 3'd2;
  parameter logic [2:0] SysWfi    = 3'd3;

  /// Exception codes of mcause.
  parameter logic [4:0] CauseFetchMisaligned = 5'd0;
  parameter logic [4:0] CauseFetchFault      = 5'd1;
  parameter logic [4:0] CauseIllegal         = 5'd2;
  parameter logic [4:0] CauseBreakpoint      = 5'd3;
  parameter logic [4:0] CauseLoadMisaligned  = 5'd4;
  parameter logic [4:0] CauseLoadFault       = 5'd5;
  parameter logic [4:0] CauseStoreMisaligned = 5'd6;
  parameter logic [4:0] CauseStoreFault      = 5'd7;
  parameter logic [4:0] CauseEcall           = 5'd11;
  /// Of the numbers for custom use: no traps, the core ends at once.
  parameter logic [4:0] CauseBarrierDeadlock = 5'd24;
  parameter logic [4:0] CauseStackOverflow   = 5'd25;

  /// Counters of a core, by index in its counter bank; the lane counters follow.
  parameter int unsigned CntCycles      = 0;
  parameter int unsigned CntInstret     = 1;
  parameter int unsigned CntLoads       = 2;
  parameter int unsigned CntStores      = 3;
  parameter int unsigned CntFetchMiss   = 4;
  parameter int unsigned CntDataHit     = 5;
  parameter int unsigned CntDataMiss    = 6;
  parameter int unsigned CntLineReads   = 7;
  parameter int unsigned CntLineWrites  = 8;
  parameter int unsigned CntStallFetch  = 9;
  parameter int unsigned CntStallMemory = 10;
  parameter int unsigned CntStallUnit   = 11;
  parameter int unsigned CntStallBar    = 12;
  parameter int unsigned CntStallPipe   = 13;
  parameter int unsigned CntReplays     = 14;
  parameter int unsigned CntActive      = 15;
  /// CYCLE_THREAD_X is at CntActive + X.
  parameter int unsigned CntFixed       = 16;

  // ---- What the stages of a core hand over. Warps and lanes have the widths of the largest core; a smaller one leaves the
  // upper bits zero. Words come last, so that they lie on word borders.

  parameter int unsigned MaxWarps = 16;
  parameter int unsigned MaxThreads = 16;
  /// Calls a lane can be deep in; deeper ones count as the deepest.
  parameter int unsigned DepthWidth = 6;

  typedef logic [$clog2(MaxWarps)-1:0] warp_t;
  typedef logic [MaxThreads-1:0] lanes_t;
  typedef logic [DepthWidth-1:0] depth_t;
  /// Number of a register; bit 5 set: a floating-point register.
  typedef logic [5:0] reg_t;

  /// A group of lanes.
  typedef struct packed {
    depth_t depth;
    warp_t  warp;
    lanes_t mask;
  } issued_t;

  /// What the decoder finds in an instruction.
  typedef struct packed {
    unit_e       unit;
    alu_e        alu;
    /// Operation within a unit: funct3, or what the unit's own numbering says.
    logic [2:0]  sub;
    logic        rd_we;
    reg_t        rd;
    logic        b_is_imm;
    /// The immediate is not added to the pc, but to nothing.
    logic        from_zero;
    /// The lanes' adder takes away; compares as signed.
    logic        subtracts;
    logic        is_signed;
    /// Operation of the floating-point unit.
    logic [4:0]  fp_op;
    /// It rounds as its warp says.
    logic        fp_dynamic;
    logic [31:0] imm;
  } decoded_t;

  /// The registers an instruction reads; x0 for none.
  typedef struct packed {
    reg_t rs1;
    reg_t rs2;
    reg_t rs3;
  } reads_t;

  /// What an instruction needs: registers, x0 for none; and what of its warp must have ended before.
  typedef struct packed {
    logic   after_loads;
    logic   after_all;
    reg_t   rd;
    reads_t reads;
  } needs_t;

  /// An instruction that waits for its turn.
  typedef struct packed {
    decoded_t    op;
    logic [31:0] pc;
    logic [31:0] instr;
  } ready_t;

  /// Issue to execute.
  typedef struct packed {
    issued_t     from;
    decoded_t    op;
    logic [31:0] pc;
    logic [31:0] instr;
  } execute_t;

  /// Operations of a warp that may be under way at once in memory and in units.
  parameter int unsigned Entries = 4;
  typedef logic [$clog2(Entries)-1:0] entry_t;

  /// What goes with an instruction through a unit that takes its time.
  typedef struct packed {
    /// Its warp waits for it (a fence, an atomic access); and the instruction cache forgets its lines when it ends.
    logic   fence;
    logic   fence_i;
    /// Of the scoreboard; not of a fence.
    entry_t entry;
    logic   we;
    reg_t   rd;
    warp_t  warp;
  } tag_t;
  parameter int unsigned UnitTagWidth = $bits(tag_t);

  /// State of the lanes of a warp.
  typedef struct packed {
    lanes_t live;
    /// Waiting at a join; at a barrier.
    lanes_t join_wait;
    lanes_t bar_wait;
  } lane_state_t;

  /// Execute to the warps: what the instruction did to its warp's lanes.
  typedef struct packed {
    /// It must come again, when memory, a unit, or a warp is free.
    logic        replay_memory;
    logic        replay_unit;
    logic        replay_spawn;
    /// It goes on in memory, and its warp waits: a fence, or an atomic access.
    logic        fence;
    /// All lanes of the group go on together, and nothing else changes; with the instruction behind.
    logic        uniform;
    logic        sequential;
    depth_t      depth;
    /// Where all go on together, they go on at the place that is said.
    logic        moves;
    logic        bar_write;
    logic        bar_global;
    logic [4:0]  bar_id;
    logic [7:0]  bar_count;
    /// Lanes that go on each at its own counter: the executing ones and those newly enabled.
    lanes_t      write;
    lane_state_t state;
    logic [15:0] spawn;
    logic [31:0] spawn_pc;
  } outcome_t;

  /// Why nothing issues.
  typedef struct packed {
    logic fetch;
    logic memory;
    logic unit;
    logic barrier;
  } waits_t;

endpackage
