/// Which lanes trap, and why. Purely combinational.
module gpu_trap
  import gpu_pkg::*;
#(
  parameter int unsigned Threads = 4
) (
  input  logic                    go_i,
  input  unit_e                   unit_i,
  input  logic [2:0]              sub_i,
  input  logic [31:0]             instr_i,
  input  logic [Threads-1:0]      mask_i,
  input  logic [Threads-1:0]      taken_i,
  input  logic [31:0]             target_i,
  input  logic [31:0]             address_i [Threads],
  input  logic                    rm_bad_i,
  output logic [Threads-1:0]      trap_o,
  output logic [4:0]              trap_cause_o,
  output logic [31:0]             trap_value_o [Threads],
  output logic [31:0]             trap_top_o
);

  logic [31:0] trap_common;
  logic trap_address;

  // Where the lanes' own addresses are at fault, each has its own value.
  always_comb begin
    trap_top_o = trap_common;
    for (int t = 0; t < int'(Threads); t++) begin
      trap_value_o[t] = trap_common;
      if (trap_address) begin
        trap_value_o[t] = {address_i[t][31:1], address_i[t][0] && unit_i != UnitJalr};
        if (trap_o[t]) trap_top_o = trap_value_o[t];
      end
    end
  end

  always_comb begin
    trap_o = '0;
    trap_cause_o = CauseIllegal;
    trap_common = '0;
    trap_address = 1'b0;
    if (go_i) begin
      unique case (unit_i)
        UnitIllegal: begin
          trap_o = mask_i;
          trap_common = instr_i;
        end
        UnitFpu: begin
          if (rm_bad_i) trap_o = mask_i;
          trap_common = instr_i;
        end
        UnitBranch: begin
          if (target_i[1]) trap_o = taken_i;
          trap_cause_o = CauseFetchMisaligned;
          trap_common = target_i;
        end
        UnitJal: begin
          if (target_i[1]) trap_o = mask_i;
          trap_cause_o = CauseFetchMisaligned;
          trap_common = target_i;
        end
        UnitJalr: begin
          trap_cause_o = CauseFetchMisaligned;
          trap_address = 1'b1;
          for (int t = 0; t < int'(Threads); t++) begin
            if (mask_i[t] && address_i[t][1]) trap_o[t] = 1'b1;
          end
        end
        UnitLoad, UnitStore, UnitAmo: begin
          trap_cause_o = (unit_i == UnitLoad) ? CauseLoadMisaligned : CauseStoreMisaligned;
          trap_address = 1'b1;
          for (int t = 0; t < int'(Threads); t++) begin
            if (mask_i[t] && ((sub_i[0] && address_i[t][0]) || (sub_i[1] && address_i[t][1:0] != '0))) begin
              trap_o[t] = 1'b1;
            end
          end
        end
        UnitSystem: begin
          if (sub_i == SysEcall || sub_i == SysEbreak) trap_o = mask_i;
          trap_cause_o = (sub_i == SysEcall) ? CauseEcall : CauseBreakpoint;
        end
        default: ;
      endcase
    end
  end

endmodule
