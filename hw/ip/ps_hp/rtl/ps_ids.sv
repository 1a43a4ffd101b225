// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
/// Lends ids of 6 bits to requests with ids of 8, and gives the ids back with the answers.
///
/// Four ids of 8 bits share each one of 6: a request waits while another of the four is under way, so that an answer's id
/// says whose it is, and AXI's order within an id is kept. The ids of slots (0xS0), and the cache's (0x0I), never meet.
module ps_ids (
  input  logic       clk_i,
  /// Synchronous reset, active low. Nothing may be under way; 64 cycles later requests may go.
  input  logic       rst_ni,
  /// A request's id, what it goes on with, whether it may go now, and that it does.
  input  logic [7:0] id_i,
  output logic [5:0] id_o,
  output logic       free_o,
  input  logic       go_i,
  /// An answer's id, whose it was, and that the answer is complete.
  input  logic [5:0] answer_id_i,
  output logic [7:0] answer_id_o,
  input  logic       ended_i
);

  // Requests gone and answered, by id and modulo 16: their difference is under way, 15 at most. Two memories, as each is
  // written from one side.
  typedef logic [3:0] count_t;
  typedef struct packed {
    logic [1:0] shared;
    count_t     count;
  } gone_t;
  gone_t gone_ram [64];
  count_t ended_ram [64];

  gone_t gone, answered;
  count_t under_way;
  logic [1:0] shared;
  logic clearing_q;
  logic [5:0] clear_q;

  assign shared = id_i[7:6];
  assign id_o = {id_i[5:4], id_i[3:2] ^ id_i[7:6], id_i[1:0]};
  assign gone = gone_ram[id_o];
  assign under_way = gone.count - ended_ram[id_o];
  assign free_o = !clearing_q && (under_way == '0 || (gone.shared == shared && under_way != '1));

  assign answered = gone_ram[answer_id_i];
  assign answer_id_o = {
    answered.shared, answer_id_i[5:4], answer_id_i[3:2] ^ answered.shared, answer_id_i[1:0]
  };

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      clearing_q <= 1'b1;
      clear_q <= '0;
    end else if (clearing_q) begin
      clear_q <= clear_q + 6'd1;
      clearing_q <= clear_q != '1;
    end
  end

  always_ff @(posedge clk_i) begin
    if (clearing_q) gone_ram[clear_q] <= '0;
    else if (go_i) gone_ram[id_o] <= '{shared: shared, count: gone.count + count_t'(1)};
  end

  always_ff @(posedge clk_i) begin
    if (clearing_q) ended_ram[clear_q] <= '0;
    else if (ended_i) ended_ram[answer_id_i] <= ended_ram[answer_id_i] + count_t'(1);
  end

`ifndef SYNTHESIS
  always_ff @(posedge clk_i) begin
    if (rst_ni) begin
      GoesOnlyIfFree_A :
      assert (!go_i || free_o)
      else $error("ps_ids: a request goes whose id is not free");
      AnswerWasAsked_A :
      assert (!ended_i || (!clearing_q && answered.count != ended_ram[answer_id_i]))
      else $error("ps_ids: memory answers what it was not asked");
    end
  end
`endif

endmodule
