/// What the blocks of a GPU core agree on: instruction classes, operations, CSR numbers, causes.
package gpu_pkg;

  // No block needs every name.
  // verilator lint_off UNUSEDPARAM

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
    UnitFpu     = 4'd13
  } unit_e;

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
    AluB    = 4'd9,   ///< second operand as it is (lui)
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

  // verilator lint_on UNUSEDPARAM

endpackage
