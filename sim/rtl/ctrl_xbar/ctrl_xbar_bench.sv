// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
/// The CPU's crossbar with a bridge behind every module window, as the shell has them; the banks are the bench's.
module ctrl_xbar_bench
  import eddy_pkg::*;
#(
  parameter int unsigned NumSlots = 3,
  parameter int unsigned NumOwn = 2 + NumSlots
) (
  input  logic                      clk_i,
  input  logic                      rst_ni,

  input  logic [23:0]               awaddr_i,
  input  logic [ 2:0]               awprot_i,
  input  logic                      awvalid_i,
  output logic                      awready_o,
  input  logic [31:0]               wdata_i,
  input  logic [ 3:0]               wstrb_i,
  input  logic                      wvalid_i,
  output logic                      wready_o,
  output logic [ 1:0]               bresp_o,
  output logic                      bvalid_o,
  input  logic                      bready_i,
  input  logic [23:0]               araddr_i,
  input  logic [ 2:0]               arprot_i,
  input  logic                      arvalid_i,
  output logic                      arready_o,
  output logic [31:0]               rdata_o,
  output logic [ 1:0]               rresp_o,
  output logic                      rvalid_o,
  input  logic                      rready_i,

  input  logic                      slverr_i,
  output logic                      miss_o,
  output logic [23:0]               miss_addr_o,

  /// Banks of the shell and of its slots.
  output logic [NumOwn-1:0]         bank_sel_o,
  output logic                      bank_write_o,
  output logic [15:0]               bank_addr_o,
  output logic [31:0]               bank_wdata_o,
  output logic [ 3:0]               bank_wstrb_o,
  input  logic [NumOwn-1:0]         bank_ack_i,
  input  logic [NumOwn-1:0]         bank_err_i,
  input  logic [NumOwn-1:0][31:0]   bank_rdata_i,

  /// Modules.
  input  logic [NumSlots-1:0]       fence_i,
  output logic [NumSlots-1:0][15:0] m_awaddr_o,
  output logic [NumSlots-1:0][ 2:0] m_awprot_o,
  output logic [NumSlots-1:0]       m_awvalid_o,
  input  logic [NumSlots-1:0]       m_awready_i,
  output logic [NumSlots-1:0][31:0] m_wdata_o,
  output logic [NumSlots-1:0][ 3:0] m_wstrb_o,
  output logic [NumSlots-1:0]       m_wvalid_o,
  input  logic [NumSlots-1:0]       m_wready_i,
  input  logic [NumSlots-1:0][ 1:0] m_bresp_i,
  input  logic [NumSlots-1:0]       m_bvalid_i,
  output logic [NumSlots-1:0]       m_bready_o,
  output logic [NumSlots-1:0][15:0] m_araddr_o,
  output logic [NumSlots-1:0][ 2:0] m_arprot_o,
  output logic [NumSlots-1:0]       m_arvalid_o,
  input  logic [NumSlots-1:0]       m_arready_i,
  input  logic [NumSlots-1:0][31:0] m_rdata_i,
  input  logic [NumSlots-1:0][ 1:0] m_rresp_i,
  input  logic [NumSlots-1:0]       m_rvalid_i,
  output logic [NumSlots-1:0]       m_rready_o
);

  localparam int unsigned NumBanks = NumOwn + NumSlots;

  logic [NumBanks-1:0] sel, ack, err, fail;
  logic [31:0] rdata[NumBanks];
  logic [2:0] prot;

  assign bank_sel_o = sel[NumOwn-1:0];
  assign ack[NumOwn-1:0] = bank_ack_i;
  assign err = (NumBanks)'(bank_err_i);
  assign fail[NumOwn-1:0] = '0;

  for (genvar i = 0; i < NumOwn; i++) begin : gen_banks
    assign rdata[i] = bank_rdata_i[i];
  end

  ctrl_xbar #(
    .NumSlots
  ) u_xbar (
    .clk_i,
    .rst_ni,
    .s_axil_awaddr(awaddr_i),
    .s_axil_awprot(awprot_i),
    .s_axil_awvalid(awvalid_i),
    .s_axil_awready(awready_o),
    .s_axil_wdata(wdata_i),
    .s_axil_wstrb(wstrb_i),
    .s_axil_wvalid(wvalid_i),
    .s_axil_wready(wready_o),
    .s_axil_bresp(bresp_o),
    .s_axil_bvalid(bvalid_o),
    .s_axil_bready(bready_i),
    .s_axil_araddr(araddr_i),
    .s_axil_arprot(arprot_i),
    .s_axil_arvalid(arvalid_i),
    .s_axil_arready(arready_o),
    .s_axil_rdata(rdata_o),
    .s_axil_rresp(rresp_o),
    .s_axil_rvalid(rvalid_o),
    .s_axil_rready(rready_i),
    .slverr_i,
    .miss_o,
    .miss_addr_o,
    .sel_o(sel),
    .write_o(bank_write_o),
    .addr_o(bank_addr_o),
    .prot_o(prot),
    .wdata_o(bank_wdata_o),
    .wstrb_o(bank_wstrb_o),
    .ack_i(ack),
    .err_i(err),
    .fail_i(fail),
    .rdata_i(rdata)
  );

  for (genvar i = 0; i < NumSlots; i++) begin : gen_slots
    lite_req_t req;
    lite_rsp_t rsp;

    ctrl_bridge u_bridge (
      .clk_i,
      .rst_ni,
      .fence_i(fence_i[i]),
      .slverr_i,
      .sel_i(sel[NumOwn+i]),
      .write_i(bank_write_o),
      .addr_i(bank_addr_o),
      .prot_i(prot),
      .wdata_i(bank_wdata_o),
      .wstrb_i(bank_wstrb_o),
      .ack_o(ack[NumOwn+i]),
      .fail_o(fail[NumOwn+i]),
      .rdata_o(rdata[NumOwn+i]),
      .req_o(req),
      .rsp_i(rsp)
    );

    assign m_awaddr_o[i] = req.aw.addr;
    assign m_awprot_o[i] = req.aw.prot;
    assign m_awvalid_o[i] = req.aw_valid;
    assign m_wdata_o[i] = req.w.data;
    assign m_wstrb_o[i] = req.w.strb;
    assign m_wvalid_o[i] = req.w_valid;
    assign m_bready_o[i] = req.b_ready;
    assign m_araddr_o[i] = req.ar.addr;
    assign m_arprot_o[i] = req.ar.prot;
    assign m_arvalid_o[i] = req.ar_valid;
    assign m_rready_o[i] = req.r_ready;

    always_comb begin
      rsp.aw_ready = m_awready_i[i];
      rsp.w_ready = m_wready_i[i];
      rsp.b_resp = m_bresp_i[i];
      rsp.b_valid = m_bvalid_i[i];
      rsp.ar_ready = m_arready_i[i];
      rsp.r.data = m_rdata_i[i];
      rsp.r.resp = m_rresp_i[i];
      rsp.r_valid = m_rvalid_i[i];
    end
  end

endmodule
