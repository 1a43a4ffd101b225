// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
/// Whatever software writes, and whatever the slots do: two ends are connected only while both are open, name each other, and
/// have the same key; never in a cycle in which either was set again, nor in the next; a slot is never its own reader; nobody has
/// two readers or two senders. A reader sees its sender's word, and takes no other's.
module stream_link_proof
  import eddy_pkg::*;
#(
  parameter int unsigned NumSlots = 3
) (
  input logic        clk_i,
  input logic        rst_ni,
  input logic        sel_i,
  input logic        write_i,
  input logic [15:0] addr_i,
  input logic [31:0] wdata_i,
  input logic [3:0]  wstrb_i,
  input axi_req_t    req_i [NumSlots],
  input axi_rsp_t    rsp_i [NumSlots]
);

  axi_rsp_t rsp [NumSlots];
  axi_req_t req [NumSlots];
  logic [NumSlots-1:0] wake;
  logic ack, err;
  logic [31:0] rdata;

  stream_link #(.NumSlots(NumSlots), .Depth(2), .MaxParts(2)) dut (
    .clk_i, .rst_ni, .sel_i, .write_i, .addr_i, .wdata_i, .wstrb_i, .ack_o(ack), .err_o(err), .rdata_o(rdata), .req_i,
    .rsp_o(rsp), .wake_o(wake), .req_o(req), .rsp_i
  );

  logic started_q = 1'b0;
  always_ff @(posedge clk_i) started_q <= 1'b1;
  always_comb InReset_M : assume (rst_ni == started_q);

  logic [NumSlots-1:0] send_set_q, receive_set_q;
  always_ff @(posedge clk_i) begin
    send_set_q <= rst_ni ? dut.send_set : '1;
    receive_set_q <= rst_ni ? dut.receive_set : '1;
  end

  for (genvar j = 0; j < int'(NumSlots); j++) begin : gen_readers
    for (genvar k = 0; k < int'(NumSlots); k++) begin : gen_senders
      // Slot j reads what slot k sends.
      logic together;
      assign together = dut.receive_connected[j] && dut.receive_from[j] == 4'(k);
      always_ff @(posedge clk_i) begin
        if (rst_ni && together) begin
          BothWantIt_A : assert (dut.receive_open[j] && dut.send_open[k] && dut.send_to[k] == 4'(j) && j != k);
          OneKey_A : assert (dut.receive_key[j] == dut.send_key[k]);
          NotWhileSet_A : assert (!dut.send_set[k] && !dut.receive_set[j] && !send_set_q[k] && !receive_set_q[j]);
          BothAreTold_A : assert (dut.send_connected[k]);
          ItsWord_A : assert (dut.gen_slot[j].from_word == dut.word[k] && dut.gen_slot[j].from_valid == dut.word_valid[k]
              && dut.gen_slot[j].from_ended == dut.ended[k] && dut.gen_slot[j].from_refused == dut.refused[k]);
          TakenByItsReader_A : assert (dut.word_take[k] == dut.word_ready[j]);
        end
        if (rst_ni && dut.send_connected[k] && dut.send_to[k] == 4'(j)) BothAreIn_A : assert (together);
      end
    end
    always_ff @(posedge clk_i) begin
      if (rst_ni && !dut.send_connected[j]) NobodyTakes_A : assert (!dut.word_take[j]);
      if (rst_ni && dut.receive_connected[j]) SomebodySends_A : assert (32'(dut.receive_from[j]) < NumSlots);
      if (rst_ni && dut.send_connected[j]) SomebodyReads_A : assert (32'(dut.send_to[j]) < NumSlots);
    end
  end

  logic unused;
  assign unused = ^{ack, err, rdata, wake};

endmodule
