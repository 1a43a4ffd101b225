// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
/// What a reset leaves of an accelerator's wrapper tells nothing: two register blocks and two queues begin in any states
/// whatever, are reset for one cycle, and see the same from then on. Nobody outside can tell them apart, now or later.
///
/// Registers must be equal themselves; of a queue's memory, whose words stay, what lies between its pointers.
module scrub_proof (
  input logic        clk_i,
  input logic        rst_ni,

  input logic [15:0] s_axil_awaddr,
  input logic        s_axil_awvalid,
  input logic [31:0] s_axil_wdata,
  input logic [3:0]  s_axil_wstrb,
  input logic        s_axil_wvalid,
  input logic        s_axil_bready,
  input logic [15:0] s_axil_araddr,
  input logic        s_axil_arvalid,
  input logic        s_axil_rready,
  input logic        ap_idle_i,
  input logic        ap_done_i,
  input logic [2:0]  status_i,

  input logic        clear_i,
  input logic        push_valid_i,
  input logic [7:0]  push_data_i,
  input logic        pop_ready_i
);

  localparam int unsigned Depth = 4;
  localparam int unsigned NumPointers = 2;

  typedef struct packed {
    logic awready, wready, bvalid, arready, rvalid, irq, start;
    logic [1:0] bresp, rresp;
    logic [31:0] rdata;
    logic [NumPointers-1:0][63:0] pointers;
    logic [0:0][31:0] scalars;
  } shown_t;

  shown_t shown[2];

  for (genvar k = 0; k < 2; k++) begin : gen_copy
    hls_ctrl #(.NumPointers(NumPointers), .NumScalars(1)) u_ctrl (
      .clk_i, .rst_ni, .s_axil_awaddr, .s_axil_awvalid, .s_axil_awready(shown[k].awready),
      .s_axil_wdata, .s_axil_wstrb, .s_axil_wvalid, .s_axil_wready(shown[k].wready),
      .s_axil_bresp(shown[k].bresp), .s_axil_bvalid(shown[k].bvalid), .s_axil_bready,
      .s_axil_araddr, .s_axil_arvalid, .s_axil_arready(shown[k].arready),
      .s_axil_rdata(shown[k].rdata), .s_axil_rresp(shown[k].rresp), .s_axil_rvalid(shown[k].rvalid), .s_axil_rready,
      .irq_o(shown[k].irq), .ap_start_o(shown[k].start), .ap_idle_i, .ap_done_i, .status_i(hls_pkg::status_t'(status_i)),
      .pointers_o(shown[k].pointers), .scalars_o(shown[k].scalars)
    );
  end

  logic push_ready[2], pop_valid[2];
  logic [7:0] pop_data[2];

  hls_fifo #(.Width(8), .Depth(Depth)) fifo_a (
    .clk_i, .rst_ni, .clear_i, .push_valid_i, .push_ready_o(push_ready[0]), .push_data_i,
    .pop_valid_o(pop_valid[0]), .pop_ready_i, .pop_data_o(pop_data[0])
  );
  hls_fifo #(.Width(8), .Depth(Depth)) fifo_b (
    .clk_i, .rst_ni, .clear_i, .push_valid_i, .push_ready_o(push_ready[1]), .push_data_i,
    .pop_valid_o(pop_valid[1]), .pop_ready_i, .pop_data_o(pop_data[1])
  );

  logic reset_q = 1'b0;
  always_ff @(posedge clk_i) reset_q <= 1'b1;

  always_comb begin
    if (!reset_q) FirstCycleResets_M : assume (!rst_ni);
  end

  // Whether the word at a place waits to be taken.
  function automatic logic waits(logic [2:0] place, logic [2:0] from, logic [2:0] to);
    logic [2:0] ahead;
    ahead = {1'b0, place[1:0] - from[1:0]};
    return ahead < to - from;
  endfunction

  logic [Depth-1:0] same;
  for (genvar place = 0; place < int'(Depth); place++) begin : gen_same
    assign same[place] = !waits(3'(place), fifo_a.read_q, fifo_a.write_q) || fifo_a.mem_q[place] == fifo_b.mem_q[place];
  end

  always_ff @(posedge clk_i) begin
    if (reset_q) begin
      RegistersShowTheSame_A : assert (shown[0] == shown[1]);
      HeldWritesAreTheSame_A :
      assert ({gen_copy[0].u_ctrl.aw_held_q, gen_copy[0].u_ctrl.w_held_q, gen_copy[0].u_ctrl.waddr_q,
               gen_copy[0].u_ctrl.wdata_q, gen_copy[0].u_ctrl.wstrb_q} ==
              {gen_copy[1].u_ctrl.aw_held_q, gen_copy[1].u_ctrl.w_held_q, gen_copy[1].u_ctrl.waddr_q,
               gen_copy[1].u_ctrl.wdata_q, gen_copy[1].u_ctrl.wstrb_q});
      StatesAreTheSame_A :
      assert ({gen_copy[0].u_ctrl.auto_q, gen_copy[0].u_ctrl.done_q, gen_copy[0].u_ctrl.ready_q,
               gen_copy[0].u_ctrl.idle_q, gen_copy[0].u_ctrl.gie_q, gen_copy[0].u_ctrl.ier_q,
               gen_copy[0].u_ctrl.isr_q, gen_copy[0].u_ctrl.status_q, gen_copy[0].u_ctrl.status_valid_q} ==
              {gen_copy[1].u_ctrl.auto_q, gen_copy[1].u_ctrl.done_q, gen_copy[1].u_ctrl.ready_q,
               gen_copy[1].u_ctrl.idle_q, gen_copy[1].u_ctrl.gie_q, gen_copy[1].u_ctrl.ier_q,
               gen_copy[1].u_ctrl.isr_q, gen_copy[1].u_ctrl.status_q, gen_copy[1].u_ctrl.status_valid_q});

      QueuesShowTheSame_A :
      assert (push_ready[0] == push_ready[1] && pop_valid[0] == pop_valid[1] &&
              (!pop_valid[0] || pop_data[0] == pop_data[1]));
      PointersAreTheSame_A : assert (fifo_a.read_q == fifo_b.read_q && fifo_a.write_q == fifo_b.write_q);
      NoMoreThanItHolds_A : assert (fifo_a.write_q - fifo_a.read_q <= 3'(Depth));
      WaitingWordsAreTheSame_A : assert (&same);
    end
  end

endmodule
