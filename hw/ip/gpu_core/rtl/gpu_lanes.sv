// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
/// Integer work of the execute stage that is done lane by lane, plus vote and shuffle. Purely combinational.
module gpu_lanes
  import gpu_pkg::*;
#(
  parameter int unsigned Threads = 4
) (
  /// Nothing is computed without it, and addresses mean nothing.
  input  logic               valid_i,
  input  unit_e              unit_i,
  input  alu_e               alu_i,
  /// funct3.
  input  logic [2:0]         sub_i,
  input  logic [31:0]        imm_i,
  input  logic               b_is_imm_i,
  input  logic               subtracts_i,
  input  logic               is_signed_i,
  /// Executing lanes.
  input  logic [Threads-1:0] mask_i,
  input  logic [31:0]        rs1_i [Threads],
  input  logic [31:0]        rs2_i [Threads],
  /// Result of UnitLane, and of UnitAlu but for AluWord; zero for others.
  output logic [31:0]        result_o [Threads],
  /// rs1 + imm: memory address, target of jalr (bit 0 not cleared), operand of a CSR access. Of others it means nothing.
  output logic [31:0]        address_o [Threads],
  /// Lanes whose branch condition holds.
  output logic [Threads-1:0] taken_o
);

  localparam int unsigned LaneWidth = (Threads > 1) ? $clog2(Threads) : 1;

  // One adder a lane: sums, differences, comparisons, addresses. A comparison is the sign of the difference of 33 bits.
  logic to_right;

  // One shifter a lane, to the right: to the left it is the same, mirrored.
  assign to_right = alu_i != AluSll;

  function automatic logic [31:0] mirrored(logic [31:0] word);
    logic [31:0] other;
    for (int b = 0; b < 32; b++) other[b] = word[31-b];
    return other;
  endfunction

  function automatic logic [31:0] shifted(logic [31:0] word, logic [4:0] by);
    logic signed [32:0] wide;
    wide = {alu_i == AluSra && word[31], to_right ? word : mirrored(word)};
    wide = wide >>> by;
    return to_right ? wide[31:0] : mirrored(wide[31:0]);
  endfunction

  function automatic logic [31:0] operand(logic [31:0] other);
    return b_is_imm_i ? imm_i : other;
  endfunction

  // The upper bit is the comparison's.
  function automatic logic [32:0] added(logic [31:0] a, logic [31:0] b);
    return {is_signed_i && a[31], a} + ({is_signed_i && b[31], b} ^ {33{subtracts_i}}) + 33'(subtracts_i);
  endfunction

  // What is neither sum nor shift.
  function automatic logic [31:0] logical(logic [31:0] a, logic [31:0] b);
    unique case (alu_i)
      AluXor:  return a ^ b;
      AluOr:   return a | b;
      AluAnd:  return a & b;
      default: return a;
    endcase
  endfunction

  // Whether a shuffle gives a lane the operand of another. Both are numbers of lanes, so most of it is known beforehand.
  function automatic logic wants(logic [1:0] op, logic [5:0] lane, logic [5:0] other, logic [17:0] spec);
    logic [5:0] by, segment, low, high;
    by = spec[5:0];
    segment = spec[17:12];
    low = lane & segment;
    high = low | (spec[11:6] & ~segment);
    unique case (op)
      2'd0:    return other < lane && by == lane - other && other >= low;
      2'd1:    return other > lane && by == other - lane && other <= high;
      2'd2:    return by == (lane ^ other) && other <= high;
      default: return (low | (by & ~segment)) == other && other <= high;
    endcase
  endfunction

  // Which result counts: told by the operation alone, so that the long ways meet in one gate.
  typedef logic [15:0] operations_t;

  function automatic operations_t one(alu_e alu);
    return operations_t'(1) << alu;
  endfunction

  localparam operations_t Adds = one(AluAdd) | one(AluSub);
  localparam operations_t Compares = one(AluSlt) | one(AluSltu);
  localparam operations_t Shifts = one(AluSll) | one(AluSrl) | one(AluSra);
  localparam operations_t Takes = one(AluXor) | one(AluOr) | one(AluAnd) | one(AluA);

  always_comb begin
    for (int t = 0; t < int'(Threads); t++) begin
      result_o[t] = '0;
      address_o[t] = 'x;
    end
    taken_o = '0;
    if (valid_i) begin
      unique case (unit_i)
        UnitAlu: begin
          if (Adds[alu_i]) for (int t = 0; t < int'(Threads); t++) result_o[t] |= 32'(added(rs1_i[t], operand(rs2_i[t])));
          if (Compares[alu_i]) for (int t = 0; t < int'(Threads); t++) result_o[t][0] |= 1'(added(rs1_i[t], operand(rs2_i[t])) >> 32);
          if (Shifts[alu_i]) for (int t = 0; t < int'(Threads); t++) result_o[t] |= shifted(rs1_i[t], 5'(operand(rs2_i[t])));
          if (Takes[alu_i]) for (int t = 0; t < int'(Threads); t++) result_o[t] |= logical(rs1_i[t], operand(rs2_i[t]));
        end
        UnitBranch: begin
          for (int t = 0; t < int'(Threads); t++) begin
            automatic logic holds;
            holds = sub_i[2] ? 1'(added(rs1_i[t], operand(rs2_i[t])) >> 32) : rs1_i[t] == rs2_i[t];
            taken_o[t] = mask_i[t] && (holds ^ sub_i[0]);
          end
        end
        UnitJalr, UnitLoad, UnitStore, UnitAmo, UnitCsr: begin
          for (int t = 0; t < int'(Threads); t++) address_o[t] = 32'(added(rs1_i[t], operand(rs2_i[t])));
        end
        UnitLane: begin
          automatic logic [Threads-1:0] vote;
          automatic logic [31:0] vote_result;
          for (int t = 0; t < int'(Threads); t++) vote[t] = mask_i[t] && rs1_i[t][0];
          unique case (sub_i[1:0])
            2'd0:    vote_result = {31'd0, vote == mask_i};
            2'd1:    vote_result = {31'd0, vote != '0};
            2'd2:    vote_result = {31'd0, vote == mask_i || vote == '0};
            default: vote_result = 32'(vote);
          endcase
          // A lane that may not or cannot read another reads itself.
          for (int t = 0; t < int'(Threads); t++) begin
            automatic logic [LaneWidth-1:0] from;
            from = LaneWidth'(t);
            for (int s = 0; s < int'(Threads); s++) begin
              if (s != t && mask_i[s] && wants(sub_i[1:0], 6'(t), 6'(s), rs2_i[t][17:0])) from = LaneWidth'(s);
            end
            result_o[t] = sub_i[2] ? rs1_i[from] : vote_result;
          end
        end
        default: ;
      endcase
    end
  end

endmodule
