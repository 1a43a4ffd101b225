// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
/// Streams from slot to slot: a port for each slot, between its path and the memory that all share, and who is connected to whom.
///
/// Two ends are connected while both are open, name each other and have the same key (`hw/regs/stream_port.rdl`); from two
/// cycles after the later was set until either is set again. A slot has one end of each kind, and is never its own reader. What a
/// slot's port does holds up that slot alone: ports share nothing but the words of a connection.
module stream_link
  import eddy_pkg::*;
#(
  /// Slots, 1 to 16.
  parameter int unsigned NumSlots = 4,
  /// Words between a sender and its reader; requests of a slot with memory in each direction.
  parameter int unsigned Depth = 64,
  parameter int unsigned MaxParts = 8
) (
  input  logic                clk_i,
  /// Synchronous reset, active low.
  input  logic                rst_ni,

  /// The processor's accesses: 64 bytes a slot.
  input  logic                sel_i,
  input  logic                write_i,
  input  logic [15:0]         addr_i,
  input  logic [31:0]         wdata_i,
  input  logic [3:0]          wstrb_i,
  output logic                ack_o,
  output logic                err_o,
  output logic [31:0]         rdata_o,

  /// The slots' paths, and the same toward memory.
  input  axi_req_t            req_i [NumSlots],
  output axi_rsp_t            rsp_o [NumSlots],
  output logic [NumSlots-1:0] wake_o,
  output axi_req_t            req_o [NumSlots],
  input  axi_rsp_t            rsp_i [NumSlots]
);

  if (NumSlots < 1 || NumSlots > 16) begin : gen_check_slots
    $fatal(1, "stream_link: NumSlots must be 1 to 16");
  end

  // Each slot's settings; whose end is connected, as a reader and as a sender.
  logic [NumSlots-1:0] send_open, send_set, receive_open, receive_set, fits, joined_q, receive_connected, send_connected;
  logic [3:0] send_to [NumSlots];
  logic [3:0] receive_from [NumSlots];
  logic [15:0] send_key [NumSlots];
  logic [15:0] receive_key [NumSlots];
  // Between ports.
  logic [63:0] word [NumSlots];
  logic [NumSlots-1:0] word_valid, word_take, word_ready, ended, refused;
  // Registers.
  logic [NumSlots-1:0] ack, err;
  logic [31:0] rdata [NumSlots];
  logic miss_q;

  always_comb begin
    fits = '0;
    receive_connected = '0;
    send_connected = '0;
    for (int unsigned j = 0; j < NumSlots; j++) begin
      for (int unsigned k = 0; k < NumSlots; k++) begin
        if (j != k && receive_open[j] && send_open[k] && receive_from[j] == 4'(k) && send_to[k] == 4'(j)) begin
          fits[j] = receive_key[j] == send_key[k] && !receive_set[j] && !send_set[k];
          receive_connected[j] = joined_q[j] && fits[j];
          if (receive_connected[j]) send_connected[k] = 1'b1;
        end
      end
    end
  end

  always_comb begin
    word_take = '0;
    for (int unsigned j = 0; j < NumSlots; j++) begin
      for (int unsigned k = 0; k < NumSlots; k++) begin
        if (send_to[k] == 4'(j)) word_take[k] = send_connected[k] && word_ready[j];
      end
    end
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) joined_q <= '0;
    else joined_q <= fits;
  end

  for (genvar k = 0; k < int'(NumSlots); k++) begin : gen_slot
    logic [27:0] send_first, send_last, receive_first, receive_last;
    logic end_pulse, receive_refused, receive_lost, from_valid, from_ended, from_refused;
    logic [31:0] sent, received, send_stalls, receive_stalls;
    logic [63:0] from_word;

    stream_port_regs u_regs (
      .clk_i,
      .rst_ni,
      .sel_i(sel_i && addr_i[15:6] == 10'(k)),
      .write_i,
      .addr_i({10'd0, addr_i[5:0]}),
      .wdata_i,
      .wstrb_i,
      .ack_o(ack[k]),
      .err_o(err[k]),
      .rdata_o(rdata[k]),
      .send_open_o(send_open[k]),
      .send_open_swmod_o(send_set[k]),
      .send_to_o(send_to[k]),
      .send_key_o(send_key[k]),
      .send_first_page_o(send_first),
      .send_last_page_o(send_last),
      .receive_open_o(receive_open[k]),
      .receive_open_swmod_o(receive_set[k]),
      .receive_from_o(receive_from[k]),
      .receive_key_o(receive_key[k]),
      .receive_first_page_o(receive_first),
      .receive_last_page_o(receive_last),
      .end_end_o(end_pulse),
      .state_send_connected_i(send_connected[k]),
      .state_send_refused_i(refused[k]),
      .state_receive_connected_i(receive_connected[k]),
      .state_receive_refused_i(receive_refused),
      .state_receive_lost_i(receive_lost),
      .sent_words_i(sent),
      .received_words_i(received),
      .send_stalls_cycles_i(send_stalls),
      .receive_stalls_cycles_i(receive_stalls)
    );

    // The sender's end, of whichever slot it is.
    always_comb begin
      from_word = '0;
      from_valid = 1'b0;
      from_ended = 1'b0;
      from_refused = 1'b0;
      for (int unsigned i = 0; i < NumSlots; i++) begin
        if (receive_from[k] == 4'(i)) begin
          from_word = word[i];
          from_valid = word_valid[i];
          from_ended = ended[i];
          from_refused = refused[i];
        end
      end
    end

    stream_port #(
      .Depth(Depth),
      .MaxParts(MaxParts)
    ) u_port (
      .clk_i,
      .rst_ni,
      .send_open_i(send_open[k]),
      .send_set_i(send_set[k]),
      .send_first_i(send_first),
      .send_last_i(send_last),
      .end_i(end_pulse),
      .receive_open_i(receive_open[k]),
      .receive_set_i(receive_set[k]),
      .receive_first_i(receive_first),
      .receive_last_i(receive_last),
      .send_connected_i(send_connected[k]),
      .word_o(word[k]),
      .word_valid_o(word_valid[k]),
      .word_ready_i(word_take[k]),
      .ended_o(ended[k]),
      .send_refused_o(refused[k]),
      .receive_connected_i(receive_connected[k]),
      .word_i(from_word),
      .word_valid_i(from_valid),
      .word_ready_o(word_ready[k]),
      .ended_i(from_ended),
      .sender_refused_i(from_refused),
      .receive_refused_o(receive_refused),
      .receive_lost_o(receive_lost),
      .sent_o(sent),
      .received_o(received),
      .send_stalls_o(send_stalls),
      .receive_stalls_o(receive_stalls),
      .req_i(req_i[k]),
      .rsp_o(rsp_o[k]),
      .wake_o(wake_o[k]),
      .req_o(req_o[k]),
      .rsp_i(rsp_i[k])
    );
  end

  // One bank answers, as the address says; none where there is no such slot.
  always_ff @(posedge clk_i) begin
    if (!rst_ni) miss_q <= 1'b0;
    else miss_q <= sel_i && 32'(addr_i[15:6]) >= NumSlots;
  end

  always_comb begin
    ack_o = miss_q || ack != '0;
    err_o = miss_q;
    rdata_o = '0;
    for (int unsigned i = 0; i < NumSlots; i++) begin
      if (ack[i]) begin
        err_o = err[i];
        rdata_o = rdata[i];
      end
    end
  end

`ifndef SYNTHESIS
  always_ff @(posedge clk_i) begin
    if (rst_ni) begin
      OneReaderASender_A :
      assert ($countones(send_connected) == $countones(receive_connected))
      else $error("stream_link: two readers of one sender");
    end
  end
`endif

endmodule
