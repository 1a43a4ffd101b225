// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
/// Words of 64 bits into the beats of an AXI4-Stream of 1 to 64 bytes, the lowest byte first.
///
/// A run has `bytes_i` bytes. All beats are full but the last, which TKEEP says and TLAST marks (`PacketBeats`: others, too);
/// what it has beyond is zero.
/// A run without bytes has no beat. TVALID stays until TREADY, unless `stop_i` ends the run. A beat a cycle, or a word.
module kernel_unpack #(
  /// Bytes of a beat, 1 to 64.
  parameter int unsigned Bytes = 8,
  /// TLAST with each so many beats, besides the last of the run; 0 for with that alone.
  parameter int unsigned PacketBeats = 0
) (
  input  logic clk_i,
  /// Synchronous reset, active low.
  input  logic rst_ni,

  /// Pulse: begin a run. Of its bytes as many words come as hold them.
  input  logic        start_i,
  input  logic [31:0] bytes_i,
  /// Level: no beat is offered any more, and words are thrown away.
  input  logic        stop_i,
  /// Bytes that have not been taken are left.
  output logic        busy_o,
  /// Bytes that are not in a beat yet.
  output logic [31:0] left_o,

  input  logic [63:0] word_i,
  input  logic        word_valid_i,
  output logic        word_ready_o,

  output logic [8*Bytes-1:0] tdata_o,
  output logic [Bytes-1:0]   tkeep_o,
  output logic               tlast_o,
  /// It is the first of the run.
  output logic               first_o,
  output logic               tvalid_o,
  input  logic               tready_i
);

  if (Bytes < 1 || Bytes > 64) begin : gen_check_bytes
    $fatal(1, "kernel_unpack: Bytes must be 1 to 64");
  end

  // Beats and words are whole units of as many bytes as divide both. Words are taken while there are few enough units that
  // beats follow each other without a pause.
  localparam int unsigned Unit = Bytes % 8 == 0 ? 8 : Bytes % 4 == 0 ? 4 : Bytes % 2 == 0 ? 2 : 1;
  localparam int unsigned BeatUnits = Bytes / Unit, WordUnits = 8 / Unit;
  localparam int unsigned Few = Bytes % 8 == 0 || 8 % Bytes == 0 ? BeatUnits : 2 * BeatUnits;
  localparam int unsigned Units = Few + WordUnits;
  localparam int unsigned FillWidth = $clog2(Units + 1);
  typedef logic [FillWidth-1:0] fill_t;
  typedef logic [Units-1:0][8*Unit-1:0] held_t;

  held_t held_q, rest;
  fill_t fill_q, rest_fill;
  logic [31:0] left_q;
  // Registers of what follows from `left_q`: that some bytes are left, and that a beat holds them.
  logic some_q, last_q;
  logic valid_q, first_q, send, enough, take, packet_ends;
  logic [Bytes-1:0] keep;

  // The last beat has at most 64 bytes.
  assign enough = fill_q >= fill_t'(BeatUnits) || (last_q && 10'(fill_q) * 10'(Unit) >= 10'(left_q[6:0]));
  assign send = some_q && enough && (!valid_q || tready_i) && !stop_i;
  assign word_ready_o = fill_q <= fill_t'(Few) || stop_i;
  assign take = word_valid_i && word_ready_o && !stop_i;
  assign busy_o = some_q || valid_q;
  assign left_o = left_q;
  assign tvalid_o = valid_q;

  always_comb begin
    keep = '1;
    if (last_q) for (int unsigned i = 0; i < Bytes; i++) keep[i] = left_q[6:0] > 7'(i);
    rest = held_q;
    rest_fill = fill_q;
    if (send) begin
      rest = held_q >> (BeatUnits * 8 * Unit);
      rest_fill = fill_q >= fill_t'(BeatUnits) ? fill_q - fill_t'(BeatUnits) : '0;
    end
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      fill_q <= '0;
      left_q <= '0;
      some_q <= 1'b0;
      last_q <= 1'b1;
      valid_q <= 1'b0;
      first_q <= 1'b0;
      held_q <= '0;
    end else if (start_i) begin
      fill_q <= '0;
      left_q <= bytes_i;
      some_q <= bytes_i != '0;
      last_q <= bytes_i <= 32'(Bytes);
      valid_q <= 1'b0;
      first_q <= 1'b1;
      held_q <= '0;
    end else if (stop_i) begin
      fill_q <= '0;
      left_q <= '0;
      some_q <= 1'b0;
      last_q <= 1'b1;
      valid_q <= 1'b0;
      held_q <= '0;
    end else begin
      if (!valid_q || tready_i) valid_q <= send;
      fill_q <= rest_fill + (take ? fill_t'(WordUnits) : '0);
      held_q <= take ? rest | (held_t'(word_i) << (32'(rest_fill) * 8 * Unit)) : rest;
      if (send) begin
        left_q <= last_q ? '0 : left_q - 32'(Bytes);
        some_q <= !last_q;
        last_q <= last_q || left_q <= 32'(2 * Bytes);
        first_q <= 1'b0;
      end
    end
  end

  always_ff @(posedge clk_i) begin
    if (send) begin
      for (int unsigned i = 0; i < Bytes; i++) tdata_o[8*i+:8] <= keep[i] ? held_q[i/Unit][8*(i%Unit)+:8] : '0;
      tkeep_o <= keep;
      tlast_o <= last_q || packet_ends;
      first_o <= first_q;
    end
  end

  // Beats of the packet under way that were made.
  if (PacketBeats > 1) begin : gen_packets
    localparam int unsigned CountWidth = $clog2(PacketBeats);
    logic [CountWidth-1:0] count_q;
    assign packet_ends = count_q == CountWidth'(PacketBeats - 1);
    always_ff @(posedge clk_i) begin
      if (!rst_ni || start_i) count_q <= '0;
      else if (send) count_q <= packet_ends ? '0 : count_q + CountWidth'(1);
    end
  end else begin : gen_packet
    assign packet_ends = PacketBeats == 1;
  end

`ifndef SYNTHESIS
  always_ff @(posedge clk_i) begin
    if (rst_ni) begin
      NeverOverfull_A :
      assert (32'(fill_q) <= Units)
      else $error("kernel_unpack: more units than there is room for");
      FollowsFromLeft_A :
      assert (some_q == (left_q != '0) && last_q == (left_q <= 32'(Bytes)))
      else $error("kernel_unpack: what is registered of the bytes left is not so");
    end
  end
`endif

endmodule
