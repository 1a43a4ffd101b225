/// Integer multiplication and division of one warp.
///
/// One operation at a time. A product is ready in the cycle after next; a quotient or remainder after 33 cycles, one
/// bit a cycle on all lanes. Division by zero and overflow give what RISC-V says ("M" extension, table of semantics).
module gpu_muldiv #(
  parameter int unsigned Threads = 4,
  parameter int unsigned TagWidth = 12
) (
  input  logic                clk_i,
  /// Synchronous reset, active low: what was in flight is forgotten.
  input  logic                rst_ni,
  input  logic                req_valid_i,
  output logic                req_ready_o,
  /// funct3 of the instruction.
  input  logic [2:0]          req_op_i,
  input  logic [Threads-1:0]  req_mask_i,
  input  logic [TagWidth-1:0] req_tag_i,
  input  logic [31:0]         req_a_i [Threads],
  input  logic [31:0]         req_b_i [Threads],
  output logic                rsp_valid_o,
  input  logic                rsp_ready_i,
  output logic [Threads-1:0]  rsp_mask_o,
  output logic [TagWidth-1:0] rsp_tag_o,
  output logic [31:0]         rsp_data_o [Threads]
);

  typedef enum logic [1:0] { Idle, Multiply, Divide, Done } state_e;

  state_e state_q;
  logic [1:0] op_q;
  logic [5:0] left_q;
  logic [Threads-1:0] mask_q, negate_q;
  logic [TagWidth-1:0] tag_q;
  logic [Threads-1:0][31:0] a_q;  // multiplicand; dividend, then quotient
  logic [Threads-1:0][31:0] b_q;
  logic [Threads-1:0][31:0] r_q;  // remainder

  function automatic logic [31:0] product(logic [1:0] op, logic [31:0] a, logic [31:0] b);
    logic signed [63:0] wide;
    wide = signed'({{32{a[31] && op != 2'd3}}, a}) * signed'({{32{b[31] && !op[1]}}, b});
    return op == '0 ? wide[31:0] : wide[63:32];
  endfunction

  assign req_ready_o = state_q == Idle;
  assign rsp_valid_o = state_q == Done;
  assign rsp_mask_o = mask_q;
  assign rsp_tag_o = tag_q;

  always_comb begin
    for (int t = 0; t < int'(Threads); t++) rsp_data_o[t] = a_q[t];
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      state_q <= Idle;
    end else begin
      unique case (state_q)
        Idle: begin
          if (req_valid_i) begin
            state_q <= req_op_i[2] ? Divide : Multiply;
            op_q <= req_op_i[1:0];
            mask_q <= req_mask_i;
            tag_q <= req_tag_i;
            left_q <= 6'd32;
            for (int t = 0; t < int'(Threads); t++) begin
              automatic logic flip_a, flip_b;
              flip_a = req_op_i[2] && !req_op_i[0] && req_a_i[t][31];
              flip_b = req_op_i[2] && !req_op_i[0] && req_b_i[t][31];
              a_q[t] <= flip_a ? -req_a_i[t] : req_a_i[t];
              b_q[t] <= flip_b ? -req_b_i[t] : req_b_i[t];
              r_q[t] <= '0;
              // The remainder has the dividend's sign; dividing by zero gives all ones, whatever the signs.
              negate_q[t] <= req_op_i[1] ? flip_a : flip_a != flip_b && req_b_i[t] != '0;
            end
          end
        end
        Multiply: begin
          state_q <= Done;
          for (int t = 0; t < int'(Threads); t++) a_q[t] <= product(op_q, a_q[t], b_q[t]);
        end
        Divide: begin
          left_q <= left_q - 6'd1;
          if (left_q == '0) begin
            state_q <= Done;
            for (int t = 0; t < int'(Threads); t++) begin
              automatic logic [31:0] value;
              value = op_q[1] ? r_q[t] : a_q[t];
              a_q[t] <= negate_q[t] ? -value : value;
            end
          end else begin
            for (int t = 0; t < int'(Threads); t++) begin
              automatic logic [32:0] shifted, rest;
              shifted = {r_q[t], a_q[t][31]};
              rest = shifted - {1'b0, b_q[t]};
              r_q[t] <= rest[32] ? shifted[31:0] : rest[31:0];
              a_q[t] <= {a_q[t][30:0], !rest[32]};
            end
          end
        end
        default: if (rsp_ready_i) state_q <= Idle;
      endcase
    end
  end

endmodule
