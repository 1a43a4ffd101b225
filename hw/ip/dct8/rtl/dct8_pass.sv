// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
/// One-dimensional 8-point DCT (or its inverse) over a stream of rows, one row every two cycles.
///
/// A row is two beats of four 16-bit samples, in natural order. The transform splits into an even and
/// an odd half of 4 x 4 products each, which share 16 multipliers, one half a cycle. Results are
/// rounded (half up) by `Shift` bits and saturated to 16 bits.
///
/// The forward transform gives coefficients 0 2 4 6, then 1 3 5 7; the inverse gives samples in
/// natural order. Throughput one beat a cycle; latency 5 cycles from a row's second beat.
/// Backpressure freezes the whole pipeline.
module dct8_pass #(
  parameter bit Inverse = 1'b0,
  parameter int unsigned Shift = 10
) (
  input  logic clk_i,
  input  logic rst_ni,
  /// Forget what is under way.
  input  logic clear_i,

  input  logic             in_valid_i,
  output logic             in_ready_o,
  input  dct8_pkg::beat_t  in_data_i,
  output logic             out_valid_o,
  input  logic             out_ready_i,
  output dct8_pkg::beat_t  out_data_o
);
  import dct8_pkg::*;

  /// Operands: the sum of two samples.
  localparam int unsigned OpWidth = SampleWidth + 1;
  localparam int unsigned ProductWidth = OpWidth + CoefWidth;
  /// Four products and a butterfly: three bits more.
  localparam int unsigned SumWidth = ProductWidth + 3;

  typedef logic signed [OpWidth-1:0] op_t;
  typedef logic signed [ProductWidth-1:0] product_t;
  typedef logic signed [SumWidth-1:0] sum_t;

  function automatic logic signed [SampleWidth-1:0] round_saturate(sum_t value);
    sum_t rounded;
    rounded = (value + (sum_t'(1) <<< (Shift - 1))) >>> Shift;
    if (rounded > sum_t'(32767)) return 16'sh7FFF;
    if (rounded < -sum_t'(32768)) return 16'sh8000;
    return rounded[SampleWidth-1:0];
  endfunction

  // Frozen only where a result waits and is not taken.
  logic go;
  assign go = !out_valid_o || out_ready_i;

  // Gather a row: its first beat waits for the second.
  logic half_q, row_valid_q, phase_q;
  beat_t first_q;
  logic signed [7:0][SampleWidth-1:0] row_q;
  logic take;
  // A full row is worked on for two cycles, exactly as long as the next one takes to come.
  assign in_ready_o = go && (!half_q || !row_valid_q || phase_q);
  assign take = in_valid_i && in_ready_o;

  always_ff @(posedge clk_i) begin
    if (!rst_ni || clear_i) begin
      half_q      <= 1'b0;
      row_valid_q <= 1'b0;
      phase_q     <= 1'b0;
    end else begin
      if (take) half_q <= !half_q;
      if (go && row_valid_q) phase_q <= !phase_q;
      if (take && half_q) row_valid_q <= 1'b1;
      else if (go && phase_q) row_valid_q <= 1'b0;
    end
  end

  always_ff @(posedge clk_i) begin
    if (take && !half_q) first_q <= in_data_i;
    if (take && half_q) row_q <= {in_data_i, first_q};
  end

  // Operands of this phase, then products, then sums: one register each.
  op_t op_d [4];
  op_t op_q [4];
  product_t product_q [4][4];
  sum_t sum_q [4];
  logic [2:0] valid_q;
  logic [2:0] odd_q;

  for (genvar i = 0; i < 4; i++) begin : gen_operand
    if (Inverse) begin : gen_inverse
      assign op_d[i] = phase_q ? op_t'($signed(row_q[2*i+1])) : op_t'($signed(row_q[2*i]));
    end else begin : gen_forward
      assign op_d[i] = phase_q ? op_t'($signed(row_q[i])) - op_t'($signed(row_q[7-i]))
                               : op_t'($signed(row_q[i])) + op_t'($signed(row_q[7-i]));
    end
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni || clear_i) begin
      valid_q <= '0;
      odd_q   <= '0;
    end else if (go) begin
      valid_q <= {valid_q[1:0], row_valid_q};
      odd_q   <= {odd_q[1:0], phase_q};
    end
  end

  for (genvar i = 0; i < 4; i++) begin : gen_op
    always_ff @(posedge clk_i) if (go) op_q[i] <= op_d[i];
  end

  for (genvar j = 0; j < 4; j++) begin : gen_result
    for (genvar i = 0; i < 4; i++) begin : gen_term
      // Result j of the even and of the odd half, term i.
      localparam coef_t Even = Inverse ? coefficient(2 * i, j) : coefficient(2 * j, i);
      localparam coef_t Odd = Inverse ? coefficient(2 * i + 1, j) : coefficient(2 * j + 1, i);
      coef_t weight;
      assign weight = odd_q[0] ? Odd : Even;
      always_ff @(posedge clk_i) if (go) product_q[j][i] <= product_t'(op_q[i]) * product_t'(weight);
    end
    always_ff @(posedge clk_i) begin
      if (go) begin
        sum_q[j] <= (sum_t'(product_q[j][0]) + sum_t'(product_q[j][1])) +
                    (sum_t'(product_q[j][2]) + sum_t'(product_q[j][3]));
      end
    end
  end

  // Output: forward results leave as they are; the inverse adds and subtracts its halves, and the
  // second beat waits one cycle.
  if (Inverse) begin : gen_output_inverse
    sum_t even_q [4];
    beat_t second_q;
    logic second_valid_q, both;
    assign both = valid_q[2] && odd_q[2];

    always_ff @(posedge clk_i) begin
      if (!rst_ni || clear_i) begin
        second_valid_q <= 1'b0;
        out_valid_o    <= 1'b0;
      end else if (go) begin
        second_valid_q <= both;
        out_valid_o    <= both || second_valid_q;
      end
    end

    for (genvar j = 0; j < 4; j++) begin : gen_lane
      always_ff @(posedge clk_i) begin
        if (go) begin
          if (valid_q[2] && !odd_q[2]) even_q[j] <= sum_q[j];
          if (both) second_q[3-j] <= round_saturate(even_q[j] - sum_q[j]);
          out_data_o[j] <= both ? round_saturate(even_q[j] + sum_q[j]) : second_q[j];
        end
      end
    end
  end else begin : gen_output_forward
    logic unused;
    assign unused = odd_q[2];
    always_ff @(posedge clk_i) begin
      if (!rst_ni || clear_i) out_valid_o <= 1'b0;
      else if (go) out_valid_o <= valid_q[2];
    end
    for (genvar j = 0; j < 4; j++) begin : gen_lane
      always_ff @(posedge clk_i) if (go) out_data_o[j] <= round_saturate(sum_q[j]);
    end
  end

endmodule
