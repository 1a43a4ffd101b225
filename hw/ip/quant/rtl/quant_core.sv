// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
/// Quantizes or restores a stream of 8x8 blocks of 16-bit coefficients, four a cycle.
///
/// Quantizing divides by the step, rounding half away from zero, exactly: with n = |x| + step/2 below
/// 2^16 and step below 2^8, floor(n / step) equals (n * ceil(2^24 / step)) >> 24. Restoring multiplies
/// and saturates to 16 bits. Latency 3 cycles; backpressure freezes the pipeline.
module quant_core #(
  parameter bit Restore = 1'b0
) (
  input  logic clk_i,
  input  logic rst_ni,
  input  logic clear_i,
  /// 0, 1 or 2; see `quant_pkg::quality`.
  input  logic [1:0] quality_i,

  input  logic        in_valid_i,
  output logic        in_ready_o,
  input  logic [63:0] in_data_i,
  output logic        out_valid_o,
  input  logic        out_ready_i,
  output logic [63:0] out_data_o
);
  import quant_pkg::*;

  /// A 17-bit magnitude by a 25-bit reciprocal.
  localparam int unsigned ProductWidth = 17 + ReciprocalWidth;

  logic go;
  logic [1:0] valid_q;
  logic [3:0] beat_q;
  assign go = !out_valid_o || out_ready_i;
  assign in_ready_o = go;

  always_ff @(posedge clk_i) begin
    if (!rst_ni || clear_i) begin
      valid_q     <= '0;
      out_valid_o <= 1'b0;
      beat_q      <= '0;
    end else if (go) begin
      {out_valid_o, valid_q} <= {valid_q, in_valid_i};
      if (in_valid_i) beat_q <= beat_q + 1'b1;
    end
  end

  for (genvar i = 0; i < 4; i++) begin : gen_lane
    logic signed [15:0] value;
    logic [7:0] divisor;
    logic [5:0] position;
    logic [16:0] size_q;
    logic negative_q, negative_q2;
    logic [ReciprocalWidth-1:0] factor_q;
    logic [ProductWidth-1:0] product_q;
    logic [16:0] result;
    logic [16:0] magnitude;

    assign value = $signed(in_data_i[16*i+:16]);
    assign position = {beat_q, 2'(i)};
    assign divisor = Steps[quality_i][position];
    assign magnitude = value[15] ? -{value[15], value} : {1'b0, value};

    always_ff @(posedge clk_i) begin
      if (go) begin
        negative_q  <= value[15];
        negative_q2 <= negative_q;
        size_q      <= Restore ? magnitude : magnitude + {10'd0, divisor[7:1]};
        factor_q    <= Restore ? ReciprocalWidth'(divisor) : Reciprocals[quality_i][position];
        product_q   <= ProductWidth'(size_q) * ProductWidth'(factor_q);
      end
    end

    // 17 bits: the largest magnitude of either sign; a restored one beyond it saturates.
    if (Restore) begin : gen_restore
      logic [16:0] limit;
      assign limit = negative_q2 ? 17'd32768 : 17'd32767;
      assign result = (product_q > ProductWidth'(limit)) ? limit : product_q[16:0];
    end else begin : gen_quantize
      logic unused;
      assign result = product_q[ReciprocalFraction+:17];
      assign unused = ^{product_q[ProductWidth-1:ReciprocalFraction+17], product_q[ReciprocalFraction-1:0]};
    end

    always_ff @(posedge clk_i) begin
      if (go) out_data_o[16*i+:16] <= negative_q2 ? 16'(-result) : 16'(result);
    end
  end

endmodule
