// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
/// Turns one selected access into one AXI4-Lite access toward a slot's firewall, which bounds it.
///
/// Fenced, nothing is forwarded: the answer is 0xDEAD and the offset, two cycles later, and no cause is raised.
module ctrl_bridge
  import eddy_pkg::*;
(
  input  logic        clk_i,
  /// Synchronous reset, active low.
  input  logic        rst_ni,
  /// Refuse accesses; one already under way is finished.
  input  logic        fence_i,
  /// Answer a fenced access SLVERR.
  input  logic        slverr_i,

  input  logic        sel_i,
  input  logic        write_i,
  input  logic [15:0] addr_i,
  input  logic [ 2:0] prot_i,
  input  logic [31:0] wdata_i,
  input  logic [ 3:0] wstrb_i,
  output logic        ack_o,
  output logic        fail_o,
  output logic [31:0] rdata_o,

  output lite_req_t   req_o,
  input  lite_rsp_t   rsp_i
);

  logic aw_valid_q, w_valid_q, ar_valid_q, b_wait_q, r_wait_q;
  logic ack_q, fail_q;
  logic [31:0] rdata_q;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      aw_valid_q <= 1'b0;
      w_valid_q <= 1'b0;
      ar_valid_q <= 1'b0;
      b_wait_q <= 1'b0;
      r_wait_q <= 1'b0;
      ack_q <= 1'b0;
      fail_q <= 1'b0;
      rdata_q <= '0;
    end else begin
      ack_q <= 1'b0;
      if (sel_i && fence_i) begin
        ack_q <= 1'b1;
        fail_q <= slverr_i;
        rdata_q <= {16'hDEAD, addr_i};
      end else if (sel_i) begin
        aw_valid_q <= write_i;
        w_valid_q <= write_i;
        ar_valid_q <= !write_i;
        b_wait_q <= write_i;
        r_wait_q <= !write_i;
      end else if (b_wait_q || r_wait_q) begin
        if (rsp_i.aw_ready) aw_valid_q <= 1'b0;
        if (rsp_i.w_ready) w_valid_q <= 1'b0;
        if (rsp_i.ar_ready) ar_valid_q <= 1'b0;
        if (b_wait_q && rsp_i.b_valid) begin
          b_wait_q <= 1'b0;
          ack_q <= 1'b1;
          fail_q <= rsp_i.b_resp[1];
        end
        if (r_wait_q && rsp_i.r_valid) begin
          r_wait_q <= 1'b0;
          ack_q <= 1'b1;
          fail_q <= rsp_i.r.resp[1];
          rdata_q <= rsp_i.r.data;
        end
      end
    end
  end

  always_comb begin
    req_o.aw = '{addr: addr_i, prot: prot_i};
    req_o.aw_valid = aw_valid_q;
    req_o.w = '{data: wdata_i, strb: wstrb_i};
    req_o.w_valid = w_valid_q;
    req_o.b_ready = b_wait_q;
    req_o.ar = '{addr: addr_i, prot: prot_i};
    req_o.ar_valid = ar_valid_q;
    req_o.r_ready = r_wait_q;
  end

  assign ack_o = ack_q;
  assign fail_o = fail_q;
  assign rdata_o = rdata_q;

endmodule
