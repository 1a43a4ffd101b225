/// Transposes a stream of 8x8 blocks, 16 beats of four samples each; two banks, so that one block
/// fills while the other drains. Throughput one beat a cycle, latency one block.
module dct8_transpose #(
  /// Rows come as elements 0 2 4 6, then 1 3 5 7, instead of in natural order.
  parameter bit EvenOdd = 1'b0
) (
  input  logic clk_i,
  input  logic rst_ni,
  input  logic clear_i,

  input  logic             in_valid_i,
  output logic             in_ready_o,
  input  dct8_pkg::beat_t  in_data_i,
  output logic             out_valid_o,
  input  logic             out_ready_i,
  output dct8_pkg::beat_t  out_data_o
);
  import dct8_pkg::*;

  logic [SampleWidth-1:0] bank_q [2][8][8];
  logic [1:0] full_q;
  /// {bank, row, half}.
  logic [4:0] in_q, out_q;
  logic push, pop;

  assign in_ready_o  = !full_q[in_q[4]];
  assign out_valid_o = full_q[out_q[4]];
  assign push = in_valid_i && in_ready_o;
  assign pop  = out_valid_o && out_ready_i;

  always_ff @(posedge clk_i) begin
    if (!rst_ni || clear_i) begin
      in_q   <= '0;
      out_q  <= '0;
      full_q <= '0;
    end else begin
      if (push) in_q <= in_q + 1'b1;
      if (pop) out_q <= out_q + 1'b1;
      if (push && in_q[3:0] == '1) full_q[in_q[4]] <= 1'b1;
      if (pop && out_q[3:0] == '1) full_q[out_q[4]] <= 1'b0;
    end
  end

  for (genvar lane = 0; lane < 4; lane++) begin : gen_lane
    logic [2:0] column, row;
    assign column = EvenOdd ? {2'(lane), in_q[0]} : {in_q[0], 2'(lane)};
    assign row = {out_q[0], 2'(lane)};
    always_ff @(posedge clk_i) begin
      if (push) bank_q[in_q[4]][in_q[3:1]][column] <= in_data_i[lane];
    end
    assign out_data_o[lane] = bank_q[out_q[4]][row][out_q[3:1]];
  end

endmodule
