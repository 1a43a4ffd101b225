// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
/// CRC-32 (IEEE 802.3, as zlib's) of words, low byte first; `crc_o` is that of all words since `clear_i`.
///
/// Each bit of the next remainder is a parity of bits of the word and of this one, which the polynomial says: three levels
/// of logic instead of 32 steps.
module icap_crc (
  input  logic        clk_i,
  /// Pulse: no words yet.
  input  logic        clear_i,
  input  logic        take_i,
  input  logic [31:0] word_i,
  output logic [31:0] crc_o
);

  /// The remainder of a word that begins as 1 in the given bit, 32 steps on.
  function automatic logic [31:0] remainder(input int from);
    remainder = 32'd1 << from;
    for (int step = 0; step < 32; step++) remainder = {1'b0, remainder[31:1]} ^ (remainder[0] ? 32'hEDB8_8320 : 32'd0);
  endfunction

  /// Row k: the bits that bit k of the next remainder is the parity of.
  function automatic logic [31:0][31:0] parities();
    logic [31:0] column;
    for (int from = 0; from < 32; from++) begin
      column = remainder(from);
      for (int k = 0; k < 32; k++) parities[k][from] = column[k];
    end
  endfunction

  localparam logic [31:0][31:0] Parities = parities();

  logic [31:0] crc_q, mixed;

  assign mixed = crc_q ^ word_i;

  always_ff @(posedge clk_i) begin
    if (clear_i) crc_q <= '1;
    else if (take_i) begin
      for (int k = 0; k < 32; k++) crc_q[k] <= ^(mixed & Parities[k]);
    end
  end

  assign crc_o = ~crc_q;

endmodule
