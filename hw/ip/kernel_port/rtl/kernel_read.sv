// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
/// The reading half of a kernel's memory port: its bursts go in parts of words, and their words come back as its beats.
///
/// Answers come in the order of the requests, with their ids. Words of a beat that the burst does not name are zero. A refused
/// burst is answered with zeros and SLVERR, in its turn. A word a cycle, and a beat a cycle; latency two cycles.
module kernel_read
  import eddy_pkg::*;
  import kernel_pkg::*;
#(
  parameter int unsigned KernelDataWidth = 64,
  parameter int unsigned KernelAddrWidth = 64,
  parameter int unsigned KernelIdWidth = 1
) (
  input  logic clk_i,
  /// Synchronous reset, active low.
  input  logic rst_ni,

  input  logic [KernelIdWidth-1:0]   arid_i,
  input  logic [KernelAddrWidth-1:0] araddr_i,
  input  logic [7:0]                 arlen_i,
  input  logic [2:0]                 arsize_i,
  input  logic [1:0]                 arburst_i,
  input  logic                       arlock_i,
  input  logic                       arvalid_i,
  output logic                       arready_o,
  output logic [KernelIdWidth-1:0]   rid_o,
  output logic [KernelDataWidth-1:0] rdata_o,
  output logic [1:0]                 rresp_o,
  output logic                       rlast_o,
  output logic                       rvalid_o,
  input  logic                       rready_i,

  /// Toward memory, which has room for what it answers.
  output ax_t  ar_o,
  output logic ar_valid_o,
  input  logic ar_ready_i,
  input  r_t   r_i,
  input  logic r_valid_i,
  output logic r_ready_o,

  /// Pulses: memory answered with an error; a burst was refused.
  output logic error_o,
  output logic refused_o,
  /// Nothing is under way.
  output logic quiet_o
);

  burst_t asked, burst;
  logic put, full, empty, take, idle;
  logic [KernelIdWidth-1:0] id;

  kernel_parts #(
    .KernelDataWidth(KernelDataWidth),
    .KernelAddrWidth(KernelAddrWidth)
  ) u_parts (
    .clk_i,
    .rst_ni,
    .valid_i(arvalid_i),
    .ready_o(arready_o),
    .addr_i(araddr_i),
    .len_i(arlen_i),
    .size_i(arsize_i),
    .burst_i(arburst_i),
    .lock_i(arlock_i),
    .full_i(full),
    .put_o(put),
    .burst_o(asked),
    .idle_o(idle),
    .part_valid_o(ar_valid_o),
    .part_ready_i(ar_ready_i),
    .part_o(ar_o)
  );

  part_queue #(
    .Width(KernelIdWidth + $bits(burst_t)),
    .Depth(16)
  ) u_bursts (
    .clk_i,
    .rst_ni,
    .put_i(put),
    .data_i({arid_i, asked}),
    .full_o(full),
    .take_i(take),
    .data_o({id, burst}),
    .empty_o(empty)
  );

  // Where the word that comes lies in its beat; which beat it is.
  logic inside_q, ends, room, word, out, last, valid_q;
  logic [6:0] at_q, at;
  logic [7:0] beat_q;
  logic [1:0] worst_q, worst;
  logic [KernelDataWidth-1:0] beat;

  assign at = inside_q ? at_q : burst.at;
  assign ends = ends_beat(at[6:BeatBits], burst.size);
  assign room = !valid_q || rready_i;
  assign r_ready_o = !empty && !burst.refused && (!ends || room);
  assign word = r_valid_i && r_ready_o;
  assign out = !empty && room && (burst.refused || (r_valid_i && ends));
  assign last = beat_q == burst.len;
  assign take = out && last;
  assign worst = burst.refused ? RespSlvErr : r_i.resp > worst_q ? r_i.resp : worst_q;
  assign error_o = word && r_i.resp[1];
  assign refused_o = put && asked.refused;
  assign quiet_o = idle && empty && !valid_q;
  assign rvalid_o = valid_q;

  // Words of a wide beat wait for its last one.
  if (KernelDataWidth > DataWidth) begin : gen_wide
    localparam int unsigned LaneWidth = $clog2(KernelDataWidth / DataWidth);
    logic [KernelDataWidth/DataWidth-1:0][DataWidth-1:0] words_q, words;

    always_comb begin
      words = words_q;
      words[at[BeatBits+:LaneWidth]] = r_i.data;
    end
    always_ff @(posedge clk_i) begin
      if (!rst_ni || out) words_q <= '0;
      else if (word) words_q <= words;
    end
    assign beat = words;
  end else if (KernelDataWidth == DataWidth) begin : gen_word
    assign beat = r_i.data;
  end else begin : gen_narrow
    localparam int unsigned First = $clog2(KernelDataWidth / 8);
    assign beat = r_i.data[KernelDataWidth*32'(at[BeatBits-1:First])+:KernelDataWidth];
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      inside_q <= 1'b0;
      beat_q <= '0;
      worst_q <= '0;
      valid_q <= 1'b0;
    end else begin
      if (word) inside_q <= !take;
      if (out) beat_q <= last ? '0 : beat_q + 8'd1;
      if (out) worst_q <= '0;
      else if (word) worst_q <= worst;
      if (room) valid_q <= out;
    end
  end

  always_ff @(posedge clk_i) begin
    if (word) at_q <= burst.fixed && ends ? burst.at : next_at(at, burst.size);
    if (out) begin
      rid_o <= id;
      rdata_o <= burst.refused ? '0 : beat;
      rresp_o <= worst;
      rlast_o <= last;
    end
  end

`ifndef SYNTHESIS
  always_ff @(posedge clk_i) begin
    if (rst_ni) begin
      AnswersWereAsked_A :
      assert (!r_valid_i || !empty)
      else $error("kernel_read: memory answers what it was not asked");
    end
  end
`endif

  logic unused;
  assign unused = ^{r_i.id, r_i.last};

endmodule
