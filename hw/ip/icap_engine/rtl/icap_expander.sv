// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
/// Expands a compressed image, a word a cycle at most; an image that is not compressed passes.
///
/// A compressed source is a sequence of pieces, each a head and what belongs to it. The head's bits 23 to 0 are the
/// number of the image's words in it, from 1; bits 31 to 30 say what they are: 0, they follow; 1, one word follows and is
/// repeated; 2, they are zero. Bits 29 to 24 are zero. The pieces' numbers add up to the image's length, and nothing
/// follows. Whatever the source: no more words come out than the image has, and in every cycle in which words are taken
/// either one is read or one comes out, so it ends.
module icap_expander (
  input  logic        clk_i,
  /// Synchronous reset, active low.
  input  logic        rst_ni,

  /// Pulse: begin.
  input  logic        start_i,
  input  logic        compressed_i,
  /// Words of the image.
  input  logic [23:0] words_i,

  input  logic [31:0] source_i,
  input  logic        source_valid_i,
  output logic        source_ready_o,
  /// Every word of the source was taken.
  input  logic        source_dry_i,

  output logic [31:0] word_o,
  output logic        word_valid_o,
  input  logic        word_ready_i,
  /// The source is not that of such an image; nothing more comes out.
  output logic        malformed_o
);

  typedef enum logic [1:0] {Head, Literal, Value, Repeat} state_e;
  typedef enum logic [1:0] {KindLiteral = 2'd0, KindRepeat = 2'd1, KindZeros = 2'd2} kind_e;

  state_e state_q;
  logic bad_q, valid_q;
  // Words of the image in later pieces, and in this one.
  logic [23:0] left_q, piece_q;
  logic [31:0] value_q, word_q;

  logic can, take, put, fits, over, last;
  logic [23:0] count;

  assign can = !valid_q || word_ready_i;
  assign count = source_i[23:0];
  assign fits = count != '0 && count <= left_q && source_i[29:24] == '0 && source_i[31:30] != 2'd3;
  assign last = piece_q == 24'd1;
  assign over = state_q == Head && left_q == '0;

  always_comb begin
    take = 1'b0;
    put = 1'b0;
    if (!bad_q) begin
      unique case (state_q)
        Head, Value: take = source_valid_i;
        Literal: begin
          take = source_valid_i && can;
          put = take;
        end
        Repeat: put = can;
        default: ;
      endcase
    end
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      state_q <= Head;
      bad_q <= 1'b0;
      valid_q <= 1'b0;
      left_q <= '0;
      piece_q <= '0;
    end else if (start_i) begin
      state_q <= compressed_i ? Head : Literal;
      bad_q <= 1'b0;
      valid_q <= 1'b0;
      left_q <= compressed_i ? words_i : '0;
      piece_q <= words_i;
    end else begin
      if (word_ready_i) valid_q <= 1'b0;
      if (put) valid_q <= 1'b1;
      // The source has ended too early.
      if (source_dry_i && !over && state_q != Repeat) bad_q <= 1'b1;
      if (take && state_q == Head) begin
        left_q <= left_q - count;
        piece_q <= count;
        unique case (source_i[31:30])
          KindLiteral: state_q <= Literal;
          KindRepeat: state_q <= Value;
          default: state_q <= Repeat;
        endcase
        if (!fits) bad_q <= 1'b1;
      end
      if (take && state_q == Value) state_q <= Repeat;
      if (put) begin
        piece_q <= piece_q - 24'd1;
        if (last) state_q <= Head;
      end
    end
  end

  always_ff @(posedge clk_i) begin
    if (take && state_q == Head) value_q <= '0;
    else if (take && state_q == Value) value_q <= source_i;
    if (put) word_q <= state_q == Repeat ? value_q : source_i;
  end

  assign source_ready_o = take;
  assign word_o = word_q;
  assign word_valid_o = valid_q;
  assign malformed_o = bad_q;

endmodule
