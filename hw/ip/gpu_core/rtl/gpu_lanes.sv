/// Integer work of the execute stage that is done lane by lane, plus vote and shuffle. Purely combinational.
module gpu_lanes
  import gpu_pkg::*;
#(
  parameter int unsigned Threads = 4
) (
  /// Nothing is computed without it.
  input  logic               valid_i,
  input  unit_e              unit_i,
  input  alu_e               alu_i,
  /// funct3.
  input  logic [2:0]         sub_i,
  input  logic [31:0]        pc_i,
  input  logic [31:0]        imm_i,
  input  logic               a_is_pc_i,
  input  logic               b_is_imm_i,
  /// Executing lanes.
  input  logic [Threads-1:0] mask_i,
  input  logic [31:0]        rs1_i [Threads],
  input  logic [31:0]        rs2_i [Threads],
  /// Result of UnitAlu and UnitLane.
  output logic [31:0]        result_o [Threads],
  /// rs1 + imm: memory address, target of jalr (bit 0 not cleared).
  output logic [31:0]        address_o [Threads],
  /// Lanes whose branch condition holds.
  output logic [Threads-1:0] taken_o
);

  localparam int unsigned LaneWidth = (Threads > 1) ? $clog2(Threads) : 1;

  function automatic logic [31:0] alu(alu_e op, logic [31:0] a, logic [31:0] b);
    unique case (op)
      AluAdd:  return a + b;
      AluSub:  return a - b;
      AluSll:  return a << b[4:0];
      AluSlt:  return {31'd0, signed'(a) < signed'(b)};
      AluSltu: return {31'd0, a < b};
      AluXor:  return a ^ b;
      AluSrl:  return a >> b[4:0];
      AluSra:  return unsigned'(signed'(a) >>> b[4:0]);
      AluOr:   return a | b;
      AluAnd:  return a & b;
      AluB:    return b;
      default: return a;
    endcase
  endfunction

  function automatic logic branch(logic [2:0] op, logic [31:0] a, logic [31:0] b);
    logic holds;
    unique case (op[2:1])
      2'd0:    holds = a == b;
      2'd2:    holds = signed'(a) < signed'(b);
      default: holds = a < b;
    endcase
    return holds ^ op[0];
  endfunction

  // Source lane of a shuffle; a lane that may not or cannot read another reads itself.
  function automatic logic [3:0] source(logic [1:0] op, logic [3:0] lane, logic [17:0] spec, logic [Threads-1:0] mask);
    logic signed [7:0] from, low, high;
    logic [5:0] own, value, clamp, segment;
    logic ok;
    own = {2'b00, lane};
    value = spec[5:0];
    clamp = spec[11:6];
    segment = spec[17:12];
    low = signed'({2'b00, own & segment});
    high = signed'({2'b00, (own & segment) | (clamp & ~segment)});
    unique case (op)
      2'd0:    from = signed'({2'b00, own}) - signed'({2'b00, value});
      2'd1:    from = signed'({2'b00, own}) + signed'({2'b00, value});
      2'd2:    from = signed'({2'b00, own ^ value});
      default: from = low | signed'({2'b00, value & ~segment});
    endcase
    ok = (op == 2'd0) ? from >= low : from <= high;
    ok = ok && from >= 0 && from < 8'(Threads);
    if (ok) ok = mask[from[LaneWidth-1:0]];
    return ok ? from[3:0] : lane;
  endfunction

  logic [Threads-1:0] vote;
  logic [31:0] vote_result;

  always_comb begin
    for (int t = 0; t < int'(Threads); t++) begin
      result_o[t] = '0;
      address_o[t] = '0;
    end
    taken_o = '0;
    vote = '0;
    vote_result = '0;
    if (valid_i) begin
      unique case (unit_i)
        UnitAlu: begin
          for (int t = 0; t < int'(Threads); t++) begin
            result_o[t] = alu(alu_i, a_is_pc_i ? pc_i : rs1_i[t], b_is_imm_i ? imm_i : rs2_i[t]);
          end
        end
        UnitBranch: begin
          for (int t = 0; t < int'(Threads); t++) taken_o[t] = mask_i[t] && branch(sub_i, rs1_i[t], rs2_i[t]);
        end
        UnitJalr, UnitLoad, UnitStore: begin
          for (int t = 0; t < int'(Threads); t++) address_o[t] = rs1_i[t] + imm_i;
        end
        UnitLane: begin
          for (int t = 0; t < int'(Threads); t++) vote[t] = mask_i[t] && rs1_i[t][0];
          unique case (sub_i[1:0])
            2'd0:    vote_result = {31'd0, vote == mask_i};
            2'd1:    vote_result = {31'd0, vote != '0};
            2'd2:    vote_result = {31'd0, vote == mask_i || vote == '0};
            default: vote_result = 32'(vote);
          endcase
          for (int t = 0; t < int'(Threads); t++) begin
            automatic logic [LaneWidth-1:0] from;
            from = LaneWidth'(source(sub_i[1:0], 4'(t), rs2_i[t][17:0], mask_i));
            result_o[t] = sub_i[2] ? rs1_i[from] : vote_result;
          end
        end
        default: ;
      endcase
    end
  end

endmodule
