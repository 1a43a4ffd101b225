/// Integer work of the execute stage that is done lane by lane, plus vote and shuffle. Purely combinational.
module gpu_lanes
  import gpu_pkg::*;
#(
  parameter int unsigned Threads = 4
) (
  /// Nothing is computed without it, and results and addresses mean nothing.
  input  logic               valid_i,
  input  unit_e              unit_i,
  input  alu_e               alu_i,
  /// funct3.
  input  logic [2:0]         sub_i,
  input  logic [31:0]        pc_i,
  input  logic [31:0]        imm_i,
  input  logic               a_is_pc_i,
  input  logic               b_is_imm_i,
  input  logic               subtracts_i,
  input  logic               is_signed_i,
  /// Executing lanes.
  input  logic [Threads-1:0] mask_i,
  input  logic [31:0]        rs1_i [Threads],
  input  logic [31:0]        rs2_i [Threads],
  /// Result of UnitAlu and UnitLane; of others it means nothing.
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

  // The upper bit is the comparison's.
  function automatic logic [32:0] added(logic [31:0] a, logic [31:0] b);
    return {is_signed_i && a[31], a} + ({is_signed_i && b[31], b} ^ {33{subtracts_i}}) + 33'(subtracts_i);
  endfunction

  function automatic logic [31:0] alu(logic [31:0] a, logic [31:0] b, logic [32:0] total);
    unique case (alu_i)
      AluAdd, AluSub:            return total[31:0];
      AluSlt, AluSltu:           return {31'd0, total[32]};
      AluSll, AluSrl, AluSra:    return shifted(a, b[4:0]);
      AluXor:                    return a ^ b;
      AluOr:                     return a | b;
      AluAnd:                    return a & b;
      AluB:                      return b;
      default:                   return a;
    endcase
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
      result_o[t] = 'x;
      address_o[t] = 'x;
    end
    taken_o = '0;
    vote = '0;
    vote_result = '0;
    if (valid_i) begin
      unique case (unit_i)
        UnitAlu, UnitBranch, UnitJalr, UnitLoad, UnitStore, UnitAmo, UnitCsr: begin
          for (int t = 0; t < int'(Threads); t++) begin
            automatic logic [31:0] a, b;
            automatic logic [32:0] total;
            a = a_is_pc_i ? pc_i : rs1_i[t];
            b = b_is_imm_i ? imm_i : rs2_i[t];
            total = added(a, b);
            address_o[t] = total[31:0];
            result_o[t] = alu(a, b, total);
            taken_o[t] = unit_i == UnitBranch && mask_i[t] && (((sub_i[2]) ? total[32] : rs1_i[t] == rs2_i[t]) ^ sub_i[0]);
          end
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
