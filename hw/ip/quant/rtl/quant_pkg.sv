// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
/// Quantization tables: ITU-T T.81 (JPEG), table K.1 (luminance), scaled for three qualities as the
/// Independent JPEG Group's coder scales it, and their reciprocals.
package quant_pkg;

  parameter int unsigned NumQualities = 3;
  /// 2^24 / Q, rounded up: exact division of 16-bit numbers by 8-bit ones.
  parameter int unsigned ReciprocalFraction = 24;
  parameter int unsigned ReciprocalWidth = 25;

  /// Table K.1, row by row.
  parameter logic [63:0][7:0] Luminance = {
    8'd99,  8'd103, 8'd100, 8'd112, 8'd98,  8'd95,  8'd92,  8'd72,
    8'd101, 8'd120, 8'd121, 8'd103, 8'd87,  8'd78,  8'd64,  8'd49,
    8'd92,  8'd113, 8'd104, 8'd81,  8'd64,  8'd55,  8'd35,  8'd24,
    8'd77,  8'd103, 8'd109, 8'd68,  8'd56,  8'd37,  8'd22,  8'd18,
    8'd62,  8'd80,  8'd87,  8'd51,  8'd29,  8'd22,  8'd17,  8'd14,
    8'd56,  8'd69,  8'd57,  8'd40,  8'd24,  8'd16,  8'd13,  8'd14,
    8'd55,  8'd60,  8'd58,  8'd26,  8'd19,  8'd14,  8'd12,  8'd12,
    8'd61,  8'd51,  8'd40,  8'd24,  8'd16,  8'd10,  8'd11,  8'd16
  };

  /// Quality 50, 75 or 90 by index.
  function automatic int unsigned quality(int unsigned index);
    return (index == 0) ? 50 : (index == 1) ? 75 : 90;
  endfunction

  /// Quantizer step at a quality and a position (0..63).
  function automatic int unsigned step(int unsigned index, int unsigned position);
    return (32'(Luminance[position]) * (200 - 2 * quality(index)) + 50) / 100;
  endfunction

  typedef logic [63:0][7:0] steps_t;
  typedef logic [63:0][ReciprocalWidth-1:0] reciprocals_t;

  function automatic steps_t steps(int unsigned index);
    steps_t result;
    for (int unsigned i = 0; i < 64; i++) result[i] = 8'(step(index, i));
    return result;
  endfunction

  function automatic reciprocals_t reciprocals(int unsigned index);
    reciprocals_t result;
    for (int unsigned i = 0; i < 64; i++) begin
      result[i] = ReciprocalWidth'(((1 << ReciprocalFraction) + step(index, i) - 1) / step(index, i));
    end
    return result;
  endfunction

  parameter logic [NumQualities-1:0][63:0][7:0] Steps = {steps(2), steps(1), steps(0)};
  parameter logic [NumQualities-1:0][63:0][ReciprocalWidth-1:0] Reciprocals =
      {reciprocals(2), reciprocals(1), reciprocals(0)};

  /// Index of a quality; 3 where there is no table for it.
  function automatic logic [1:0] quality_index(logic [31:0] value);
    unique case (value)
      32'd50:  return 2'd0;
      32'd75:  return 2'd1;
      32'd90:  return 2'd2;
      default: return 2'd3;
    endcase
  endfunction

endpackage
