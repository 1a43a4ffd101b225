// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
// A slot's ports around a kernel: its register bundles, and its memory ports on the slot's one. The top declares NumBundles,
// BundleBase, BundleBytes, NumPorts and `trouble`, includes this, and connects `bundle_*`, `port_*` and `irq` to the kernel and
// its `kernel_mem`s. Between runs, when nothing is under way, a start resets what stands between the kernel and memory, so that
// no run can tell what another has done there before it.

  logic [15:0] bundle_awaddr, bundle_araddr;
  logic [31:0] bundle_wdata;
  logic [3:0] bundle_wstrb;
  logic [NumBundles-1:0] bundle_awvalid, bundle_awready, bundle_wvalid, bundle_wready, bundle_bvalid, bundle_bready;
  logic [NumBundles-1:0] bundle_arvalid, bundle_arready, bundle_rvalid, bundle_rready;
  logic [NumBundles-1:0][31:0] bundle_rdata;

  eddy_pkg::axi_req_t port_req [NumPorts];
  eddy_pkg::axi_rsp_t port_rsp [NumPorts];
  eddy_pkg::axi_req_t mem_req;
  eddy_pkg::axi_rsp_t mem_rsp;
  logic [NumPorts-1:0] port_read_error, port_write_error, port_refused, port_quiet;
  logic start, mem_rst_n, irq;

  assign mem_rst_n = rst_ni && !(start && &port_quiet);

  always_ff @(posedge clk_i) begin
    if (!rst_ni) irq_o <= 1'b0;
    else irq_o <= irq;
  end

  kernel_axil #(
    .NumBundles(NumBundles), .Base(BundleBase), .Bytes(BundleBytes), .BuildHash(BuildHash)
  ) u_axil (
    .clk_i, .rst_ni, .s_axil_awaddr, .s_axil_awvalid, .s_axil_awready, .s_axil_wdata, .s_axil_wstrb, .s_axil_wvalid,
    .s_axil_wready, .s_axil_bresp, .s_axil_bvalid, .s_axil_bready, .s_axil_araddr, .s_axil_arvalid, .s_axil_arready,
    .s_axil_rdata, .s_axil_rresp, .s_axil_rvalid, .s_axil_rready,
    .bundle_awaddr_o(bundle_awaddr), .bundle_awvalid_o(bundle_awvalid), .bundle_awready_i(bundle_awready),
    .bundle_wdata_o(bundle_wdata), .bundle_wstrb_o(bundle_wstrb), .bundle_wvalid_o(bundle_wvalid),
    .bundle_wready_i(bundle_wready), .bundle_bvalid_i(bundle_bvalid), .bundle_bready_o(bundle_bready),
    .bundle_araddr_o(bundle_araddr), .bundle_arvalid_o(bundle_arvalid), .bundle_arready_i(bundle_arready),
    .bundle_rdata_i(bundle_rdata), .bundle_rvalid_i(bundle_rvalid), .bundle_rready_o(bundle_rready),
    .start_o(start), .read_error_i(|port_read_error), .write_error_i(|port_write_error), .refused_i(|port_refused),
    .trouble_i(trouble)
  );

  kernel_join #(
    .NumPorts(NumPorts)
  ) u_join (
    .clk_i, .rst_ni(mem_rst_n), .req_i(port_req), .rsp_o(port_rsp), .req_o(mem_req), .rsp_i(mem_rsp)
  );

  assign {m_axi_awid, m_axi_awaddr, m_axi_awlen, m_axi_awsize, m_axi_awburst, m_axi_awcache, m_axi_awprot, m_axi_awqos,
          m_axi_awuser} = mem_req.aw;
  assign m_axi_awvalid = mem_req.aw_valid;
  assign {m_axi_wdata, m_axi_wstrb, m_axi_wlast} = mem_req.w;
  assign m_axi_wvalid = mem_req.w_valid;
  assign m_axi_bready = mem_req.b_ready;
  assign {m_axi_arid, m_axi_araddr, m_axi_arlen, m_axi_arsize, m_axi_arburst, m_axi_arcache, m_axi_arprot, m_axi_arqos,
          m_axi_aruser} = mem_req.ar;
  assign m_axi_arvalid = mem_req.ar_valid;
  assign m_axi_rready = mem_req.r_ready;
  assign mem_rsp = '{
    aw_ready: m_axi_awready, w_ready: m_axi_wready, b: '{id: m_axi_bid, resp: m_axi_bresp}, b_valid: m_axi_bvalid,
    ar_ready: m_axi_arready, r: '{id: m_axi_rid, data: m_axi_rdata, resp: m_axi_rresp, last: m_axi_rlast},
    r_valid: m_axi_rvalid
  };
