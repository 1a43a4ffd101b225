// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
/// Why lanes have trapped, and with which value. Purely combinational, from what the execute stage has left.
module gpu_trap_value
  import gpu_pkg::*;
#(
  parameter int unsigned Threads = 4
) (
  input  unit_e                   unit_i,
  input  logic [2:0]              sub_i,
  input  logic [31:0]             instr_i,
  input  logic [Threads-1:0]      trap_i,
  input  logic [31:0]             target_i,
  input  logic [Threads-1:0][31:0] address_i,
  output logic [4:0]              cause_o,
  output logic [31:0]             value_o [Threads],
  /// That of the highest lane.
  output logic [31:0]             top_o
);

  logic [31:0] common;
  logic own;

  always_comb begin
    cause_o = CauseIllegal;
    // Without a trap it means nothing.
    common = 'x;
    own = 1'b0;
    if (trap_i != '0) begin
      common = '0;
      unique case (unit_i)
        UnitIllegal, UnitFpu: common = instr_i;
        UnitBranch, UnitJal: begin
          cause_o = CauseFetchMisaligned;
          common = target_i;
        end
        UnitJalr: begin
          cause_o = CauseFetchMisaligned;
          own = 1'b1;
        end
        UnitLoad, UnitStore, UnitAmo: begin
          cause_o = (unit_i == UnitLoad) ? CauseLoadMisaligned : CauseStoreMisaligned;
          own = 1'b1;
        end
        UnitSystem: cause_o = (sub_i == SysEcall) ? CauseEcall : CauseBreakpoint;
        default: ;
      endcase
    end
  end

  // Where the lanes' own addresses are at fault, each has its own value.
  always_comb begin
    top_o = 'x;
    for (int t = 0; t < int'(Threads); t++) value_o[t] = 'x;
    if (trap_i != '0) begin
      top_o = common;
      for (int t = 0; t < int'(Threads); t++) begin
        value_o[t] = common;
        if (own) begin
          value_o[t] = {address_i[t][31:1], address_i[t][0] && unit_i != UnitJalr};
          if (trap_i[t]) top_o = value_o[t];
        end
      end
    end
  end

endmodule
