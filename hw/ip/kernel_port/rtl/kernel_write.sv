// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
/// The writing half of a kernel's memory port: its bursts go in parts of words, their data word by word, and of the parts'
/// answers the worst is the burst's.
///
/// A burst ends by its length; WLAST is not looked at, nor is WID, which AXI3 has. Data is taken after its address. A refused
/// burst's data is taken and thrown away, and it is answered SLVERR, in its turn. A word a cycle.
module kernel_write
  import eddy_pkg::*;
  import kernel_pkg::*;
#(
  parameter int unsigned KernelDataWidth = 64,
  parameter int unsigned KernelAddrWidth = 64,
  parameter int unsigned KernelIdWidth = 1,
  /// Parts whose data has gone and that memory has not answered; a power of two.
  parameter int unsigned MaxParts = 16
) (
  input  logic clk_i,
  /// Synchronous reset, active low.
  input  logic rst_ni,

  input  logic [KernelIdWidth-1:0]     awid_i,
  input  logic [KernelAddrWidth-1:0]   awaddr_i,
  input  logic [7:0]                   awlen_i,
  input  logic [2:0]                   awsize_i,
  input  logic [1:0]                   awburst_i,
  input  logic                         awlock_i,
  input  logic                         awvalid_i,
  output logic                         awready_o,
  input  logic [KernelDataWidth-1:0]   wdata_i,
  input  logic [KernelDataWidth/8-1:0] wstrb_i,
  input  logic                         wvalid_i,
  output logic                         wready_o,
  output logic [KernelIdWidth-1:0]     bid_o,
  output logic [1:0]                   bresp_o,
  output logic                         bvalid_o,
  input  logic                         bready_i,

  /// Toward memory: a part is offered before its data.
  output ax_t  aw_o,
  output logic aw_valid_o,
  input  logic aw_ready_i,
  output w_t   w_o,
  output logic w_valid_o,
  input  logic w_ready_i,
  input  b_t   b_i,
  input  logic b_valid_i,
  output logic b_ready_o,

  /// Pulses: memory answered with an error; a burst was refused.
  output logic error_o,
  output logic refused_o,
  /// Nothing is under way.
  output logic quiet_o
);

  burst_t asked, burst;
  logic put, full, empty, take, idle, part_go;
  logic [KernelIdWidth-1:0] id;
  logic lens_full, lens_empty, parts_valid;
  logic [3:0] part_len;

  kernel_parts #(
    .KernelDataWidth(KernelDataWidth),
    .KernelAddrWidth(KernelAddrWidth)
  ) u_parts (
    .clk_i,
    .rst_ni,
    .valid_i(awvalid_i),
    .ready_o(awready_o),
    .addr_i(awaddr_i),
    .len_i(awlen_i),
    .size_i(awsize_i),
    .burst_i(awburst_i),
    .lock_i(awlock_i),
    .full_i(full),
    .put_o(put),
    .burst_o(asked),
    .idle_o(idle),
    .part_valid_o(parts_valid),
    .part_ready_i(aw_ready_i && !lens_full),
    .part_o(aw_o)
  );

  assign aw_valid_o = parts_valid && !lens_full;
  assign part_go = aw_valid_o && aw_ready_i;

  part_queue #(
    .Width(KernelIdWidth + $bits(burst_t)),
    .Depth(16)
  ) u_bursts (
    .clk_i,
    .rst_ni,
    .put_i(put),
    .data_i({awid_i, asked}),
    .full_o(full),
    .take_i(take),
    .data_o({id, burst}),
    .empty_o(empty)
  );

  // The words that each part has, less one.
  logic word, part_last, ends, last;

  part_queue #(
    .Width(4),
    .Depth(MaxParts)
  ) u_lens (
    .clk_i,
    .rst_ni,
    .put_i(part_go),
    .data_i(aw_o.len[3:0]),
    .full_o(lens_full),
    .take_i(word && part_last),
    .data_o(part_len),
    .empty_o(lens_empty)
  );

  // Data: where the word that goes lies in its beat; which beat it is; which word of its part.
  logic inside_q, open, swallow, owed_full, owed_empty;
  logic [6:0] at_q, at;
  logic [7:0] beat_q;
  logic [3:0] word_q;

  assign at = inside_q ? at_q : burst.at;
  assign ends = ends_beat(at[6:BeatBits], burst.size);
  assign last = beat_q == burst.len;
  assign part_last = word_q == part_len;
  assign open = !empty && !burst.refused && !lens_empty && !(part_last && owed_full);
  assign w_valid_o = wvalid_i && open;
  assign word = w_valid_o && w_ready_i;
  assign swallow = wvalid_i && !empty && burst.refused && !owed_full;
  assign wready_o = !empty && (burst.refused ? !owed_full : open && ends && w_ready_i);
  assign take = last && (swallow || (word && ends));
  assign w_o.last = part_last;

  if (KernelDataWidth > DataWidth) begin : gen_wide
    localparam int unsigned LaneWidth = $clog2(KernelDataWidth / DataWidth);
    assign w_o.data = wdata_i[DataWidth*32'(at[BeatBits+:LaneWidth])+:DataWidth];
    assign w_o.strb = wstrb_i[StrbWidth*32'(at[BeatBits+:LaneWidth])+:StrbWidth];
  end else if (KernelDataWidth == DataWidth) begin : gen_word
    assign w_o.data = wdata_i;
    assign w_o.strb = wstrb_i;
  end else begin : gen_narrow
    localparam int unsigned Bytes = KernelDataWidth / 8, First = $clog2(Bytes);
    assign w_o.data = {DataWidth / KernelDataWidth{wdata_i}};
    assign w_o.strb = StrbWidth'(wstrb_i) << (Bytes * 32'(at[BeatBits-1:First]));
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      inside_q <= 1'b0;
      beat_q <= '0;
      word_q <= '0;
    end else begin
      if (word) inside_q <= !take;
      if (swallow || (word && ends)) beat_q <= last ? '0 : beat_q + 8'd1;
      if (word) word_q <= part_last ? '0 : word_q + 4'd1;
    end
  end

  always_ff @(posedge clk_i) begin
    if (word) at_q <= burst.fixed && ends ? burst.at : next_at(at, burst.size);
  end

  // Answers owed: of a part, or of a burst that was refused.
  logic b_last, b_refused, answer, room, valid_q;
  logic [KernelIdWidth-1:0] b_id;
  logic [1:0] worst_q, worst;

  part_queue #(
    .Width(KernelIdWidth + 2),
    .Depth(MaxParts)
  ) u_owed (
    .clk_i,
    .rst_ni,
    .put_i((word && part_last) || (swallow && last)),
    .data_i({id, burst.refused, last && ends}),
    .full_o(owed_full),
    .take_i(answer),
    .data_o({b_id, b_refused, b_last}),
    .empty_o(owed_empty)
  );

  assign room = !valid_q || bready_i;
  assign b_ready_o = !owed_empty && !b_refused && (!b_last || room);
  assign answer = (b_valid_i && b_ready_o) || (!owed_empty && b_refused && room);
  assign worst = b_refused ? RespSlvErr : b_i.resp > worst_q ? b_i.resp : worst_q;
  assign error_o = b_valid_i && b_ready_o && b_i.resp[1];
  assign refused_o = put && asked.refused;
  assign quiet_o = idle && empty && owed_empty && !valid_q;
  assign bvalid_o = valid_q;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      worst_q <= '0;
      valid_q <= 1'b0;
    end else begin
      if (answer) worst_q <= b_last || b_refused ? '0 : worst;
      if (room) valid_q <= answer && (b_last || b_refused);
    end
  end

  always_ff @(posedge clk_i) begin
    if (answer && (b_last || b_refused)) begin
      bid_o <= b_id;
      bresp_o <= worst;
    end
  end

`ifndef SYNTHESIS
  always_ff @(posedge clk_i) begin
    if (rst_ni) begin
      AnswersWereAsked_A :
      assert (!b_valid_i || !owed_empty)
      else $error("kernel_write: memory answers what it was not asked");
      BurstsEndWithTheirParts_A :
      assert (!(word && ends && last) || part_last)
      else $error("kernel_write: a burst ends in the middle of a part");
    end
  end
`endif

  logic unused;
  assign unused = ^b_i.id;

endmodule
