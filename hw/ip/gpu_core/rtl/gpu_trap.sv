// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
/// Which lanes trap, but for those of branches. Purely combinational, from the low bits of what the lanes add up: nothing here
/// waits for a sum.
module gpu_trap
  import gpu_pkg::*;
#(
  parameter int unsigned Threads = 4
) (
  input  logic                    go_i,
  input  unit_e                   unit_i,
  input  logic [2:0]              sub_i,
  input  logic [Threads-1:0]      mask_i,
  /// Of the immediate, whose instruction lies on a multiple of four where it is the distance of a jump.
  input  logic [1:0]              imm_i,
  input  logic [31:0]             rs1_i [Threads],
  input  logic                    rm_bad_i,
  output logic [Threads-1:0]      trap_o
);

  // Of a lane's address, bits 1:0.
  function automatic logic [1:0] low(logic [1:0] base);
    return base + imm_i;
  endfunction

  // Whether an access there does not lie as it has to.
  function automatic logic misaligned(logic [1:0] bits);
    return (sub_i[0] && bits[0]) || (sub_i[1] && bits != '0);
  endfunction

  always_comb begin
    trap_o = '0;
    if (go_i) begin
      unique case (unit_i)
        UnitIllegal:                   trap_o = mask_i;
        UnitFpu:                       if (rm_bad_i) trap_o = mask_i;
        UnitJal:                       if (imm_i[1]) trap_o = mask_i;
        UnitJalr:                      for (int t = 0; t < int'(Threads); t++) trap_o[t] = mask_i[t] && (low(rs1_i[t][1:0]) & 2'd2) != '0;
        UnitLoad, UnitStore, UnitAmo:
          for (int t = 0; t < int'(Threads); t++) trap_o[t] = mask_i[t] && misaligned(low(rs1_i[t][1:0]));
        UnitSystem:                    if (sub_i == SysEcall || sub_i == SysEbreak) trap_o = mask_i;
        default: ;
      endcase
    end
  end

endmodule
