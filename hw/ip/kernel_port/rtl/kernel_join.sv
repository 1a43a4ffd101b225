// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
/// The memory ports of a kernel on the slot's one port: they take turns by the beats they move (`mem_xbar`), and their number
/// is the id of what they ask, by which answers find back. No port can hold up another: each has room for what it asked. Data
/// goes after its address has been taken. Every output is a flop.
module kernel_join
  import eddy_pkg::*;
#(
  /// Ports, 1 to 16.
  parameter int unsigned NumPorts = 1
) (
  input  logic clk_i,
  /// Synchronous reset, active low.
  input  logic rst_ni,

  input  axi_req_t req_i [NumPorts],
  output axi_rsp_t rsp_o [NumPorts],

  output axi_req_t req_o,
  input  axi_rsp_t rsp_i
);

  if (NumPorts < 1 || NumPorts > 16) begin : gen_check_ports
    $fatal(1, "kernel_join: NumPorts must be 1 to 16");
  end

  ax_t aw [NumPorts];
  ax_t ar [NumPorts];
  w_t w [NumPorts];
  logic [NumPorts-1:0] aw_valid, aw_ready, w_valid, w_ready, b_valid, ar_valid, ar_ready, r_valid, unused_ready;
  ax_t aw_out, ar_out;
  logic [3:0] aw_port, ar_port;

  // Bursts whose address memory has taken, and not all their data.
  w_t w_out;
  logic w_out_valid, w_out_ready, w_open, w_skid_ready;
  logic [3:0] open_q;
  logic aw_go, w_go;

  for (genvar i = 0; i < int'(NumPorts); i++) begin : gen_ports
    assign aw[i] = req_i[i].aw;
    assign aw_valid[i] = req_i[i].aw_valid;
    assign w[i] = req_i[i].w;
    assign w_valid[i] = req_i[i].w_valid;
    assign ar[i] = req_i[i].ar;
    assign ar_valid[i] = req_i[i].ar_valid;
    assign rsp_o[i] = '{
      aw_ready: aw_ready[i], w_ready: w_ready[i], b: rsp_i.b, b_valid: b_valid[i], ar_ready: ar_ready[i], r: rsp_i.r,
      r_valid: r_valid[i]
    };
    assign unused_ready[i] = req_i[i].b_ready && req_i[i].r_ready;
  end

  mem_xbar #(
    .NumSlots(NumPorts),
    .MaxWrites(8),
    .MaxReads(8),
    .MaxBeats(128)
  ) u_turns (
    .clk_i,
    .rst_ni,
    .slot_aw_i(aw),
    .slot_aw_valid_i(aw_valid),
    .slot_aw_ready_o(aw_ready),
    .slot_w_i(w),
    .slot_w_valid_i(w_valid),
    .slot_w_ready_o(w_ready),
    .slot_b_valid_o(b_valid),
    .slot_ar_i(ar),
    .slot_ar_valid_i(ar_valid),
    .slot_ar_ready_o(ar_ready),
    .slot_r_valid_o(r_valid),
    .aw_o(aw_out),
    .aw_slot_o(aw_port),
    .aw_valid_o(req_o.aw_valid),
    .aw_ready_i(rsp_i.aw_ready),
    .w_o(w_out),
    .w_valid_o(w_out_valid),
    .w_ready_i(w_out_ready),
    .b_slot_i(rsp_i.b.id),
    .b_valid_i(rsp_i.b_valid),
    .b_ready_o(req_o.b_ready),
    .ar_o(ar_out),
    .ar_slot_o(ar_port),
    .ar_valid_o(req_o.ar_valid),
    .ar_ready_i(rsp_i.ar_ready),
    .r_slot_i(rsp_i.r.id),
    .r_valid_i(rsp_i.r_valid),
    .r_last_i(rsp_i.r.last),
    .r_ready_o(req_o.r_ready)
  );

  assign w_open = open_q != '0;
  assign w_out_ready = w_skid_ready && w_open;
  assign aw_go = req_o.aw_valid && rsp_i.aw_ready;
  assign w_go = w_out_valid && w_out_ready && w_out.last;

  skid #(
    .Width($bits(w_t))
  ) u_w (
    .clk_i,
    .rst_ni,
    .valid_i(w_out_valid && w_open),
    .ready_o(w_skid_ready),
    .data_i(w_out),
    .valid_o(req_o.w_valid),
    .ready_i(rsp_i.w_ready),
    .data_o(req_o.w)
  );

  always_ff @(posedge clk_i) begin
    if (!rst_ni) open_q <= '0;
    else if (aw_go != w_go) open_q <= aw_go ? open_q + 4'd1 : open_q - 4'd1;
  end

  always_comb begin
    req_o.aw = aw_out;
    req_o.aw.id = aw_port;
    req_o.ar = ar_out;
    req_o.ar.id = ar_port;
  end

`ifndef SYNTHESIS
  always_ff @(posedge clk_i) begin
    if (rst_ni) begin
      PortsHaveRoom_A :
      assert (&unused_ready)
      else $error("kernel_join: a port has no room for what it asked");
    end
  end
`endif

endmodule
