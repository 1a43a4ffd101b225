// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
/// Flat-ported bench top for the blocks of the slot boundary: cocotbext-axi attaches by prefix.
///
/// `cpu_axil` and `mem_axi` are the shell's side (`clk_i`), `slot_axil` and `slot_axi` the module's (`slot_clk_i`).
/// `Block` chooses what stands between: 0 register slices, 1 clock crossing, 2 decoupler, 3 firewall, 4 all of them as in
/// the shell. Blocks with one clock use `clk_i` on both sides.
module boundary_tb
  import eddy_pkg::*;
  import firewall_pkg::*;
#(
  parameter int unsigned Block = 0,
  parameter int unsigned NumWindows = 4,
  parameter int unsigned MaxOutstanding = 4
) (
  input logic clk_i,
  input logic rst_ni,
  input logic slot_clk_i,

  input  logic        ctrl_open_i,
  input  logic        mem_open_i,
  input  logic        irq_open_i,
  output logic        ctrl_open_o,
  output logic        mem_open_o,
  output logic        irq_open_o,
  input  logic        clear_path_i,
  output logic        path_rst_no,
  input  logic        quiesce_i,
  input  logic        revoke_i,
  input  logic        slverr_i,
  input  logic        clear_i,
  input  logic [15:0] ctrl_timeout_i,
  input  logic [15:0] mem_timeout_i,
  input  logic [27:0] window_base_i[NumWindows],
  input  logic [27:0] window_last_i[NumWindows],
  input  logic        window_read_i[NumWindows],
  input  logic        window_write_i[NumWindows],
  input  logic [15:0] window_contexts_i[NumWindows],
  /// The firewall has these windows.
  output logic        windows_set_o,
  output logic        ctrl_idle_o,
  output logic        mem_idle_o,
  output logic        mem_drained_o,
  output logic        isolated_o,
  output logic [ 3:0] cause_o,
  output logic [39:0] fault_addr_o,
  output logic [ 3:0] fault_context_o,
  input  logic        slot_irq_i,
  output logic        irq_o,

  input  logic [15:0] cpu_axil_awaddr,
  input  logic [ 2:0] cpu_axil_awprot,
  input  logic        cpu_axil_awvalid,
  output logic        cpu_axil_awready,
  input  logic [31:0] cpu_axil_wdata,
  input  logic [ 3:0] cpu_axil_wstrb,
  input  logic        cpu_axil_wvalid,
  output logic        cpu_axil_wready,
  output logic [ 1:0] cpu_axil_bresp,
  output logic        cpu_axil_bvalid,
  input  logic        cpu_axil_bready,
  input  logic [15:0] cpu_axil_araddr,
  input  logic [ 2:0] cpu_axil_arprot,
  input  logic        cpu_axil_arvalid,
  output logic        cpu_axil_arready,
  output logic [31:0] cpu_axil_rdata,
  output logic [ 1:0] cpu_axil_rresp,
  output logic        cpu_axil_rvalid,
  input  logic        cpu_axil_rready,
  output logic [15:0] slot_axil_awaddr,
  output logic [ 2:0] slot_axil_awprot,
  output logic        slot_axil_awvalid,
  input  logic        slot_axil_awready,
  output logic [31:0] slot_axil_wdata,
  output logic [ 3:0] slot_axil_wstrb,
  output logic        slot_axil_wvalid,
  input  logic        slot_axil_wready,
  input  logic [ 1:0] slot_axil_bresp,
  input  logic        slot_axil_bvalid,
  output logic        slot_axil_bready,
  output logic [15:0] slot_axil_araddr,
  output logic [ 2:0] slot_axil_arprot,
  output logic        slot_axil_arvalid,
  input  logic        slot_axil_arready,
  input  logic [31:0] slot_axil_rdata,
  input  logic [ 1:0] slot_axil_rresp,
  input  logic        slot_axil_rvalid,
  output logic        slot_axil_rready,
  input  logic [ 3:0] slot_axi_awid,
  input  logic [39:0] slot_axi_awaddr,
  input  logic [ 7:0] slot_axi_awlen,
  input  logic [ 2:0] slot_axi_awsize,
  input  logic [ 1:0] slot_axi_awburst,
  input  logic [ 3:0] slot_axi_awcache,
  input  logic [ 2:0] slot_axi_awprot,
  input  logic [ 3:0] slot_axi_awqos,
  input  logic [ 3:0] slot_axi_awuser,
  input  logic        slot_axi_awvalid,
  output logic        slot_axi_awready,
  input  logic [DataWidth-1:0] slot_axi_wdata,
  input  logic [StrbWidth-1:0] slot_axi_wstrb,
  input  logic        slot_axi_wlast,
  input  logic        slot_axi_wvalid,
  output logic        slot_axi_wready,
  output logic [ 3:0] slot_axi_bid,
  output logic [ 1:0] slot_axi_bresp,
  output logic        slot_axi_bvalid,
  input  logic        slot_axi_bready,
  input  logic [ 3:0] slot_axi_arid,
  input  logic [39:0] slot_axi_araddr,
  input  logic [ 7:0] slot_axi_arlen,
  input  logic [ 2:0] slot_axi_arsize,
  input  logic [ 1:0] slot_axi_arburst,
  input  logic [ 3:0] slot_axi_arcache,
  input  logic [ 2:0] slot_axi_arprot,
  input  logic [ 3:0] slot_axi_arqos,
  input  logic [ 3:0] slot_axi_aruser,
  input  logic        slot_axi_arvalid,
  output logic        slot_axi_arready,
  output logic [ 3:0] slot_axi_rid,
  output logic [DataWidth-1:0] slot_axi_rdata,
  output logic [ 1:0] slot_axi_rresp,
  output logic        slot_axi_rlast,
  output logic        slot_axi_rvalid,
  input  logic        slot_axi_rready,
  output logic [ 3:0] mem_axi_awid,
  output logic [39:0] mem_axi_awaddr,
  output logic [ 7:0] mem_axi_awlen,
  output logic [ 2:0] mem_axi_awsize,
  output logic [ 1:0] mem_axi_awburst,
  output logic [ 3:0] mem_axi_awcache,
  output logic [ 2:0] mem_axi_awprot,
  output logic [ 3:0] mem_axi_awqos,
  output logic [ 3:0] mem_axi_awuser,
  output logic        mem_axi_awvalid,
  input  logic        mem_axi_awready,
  output logic [DataWidth-1:0] mem_axi_wdata,
  output logic [StrbWidth-1:0] mem_axi_wstrb,
  output logic        mem_axi_wlast,
  output logic        mem_axi_wvalid,
  input  logic        mem_axi_wready,
  input  logic [ 3:0] mem_axi_bid,
  input  logic [ 1:0] mem_axi_bresp,
  input  logic        mem_axi_bvalid,
  output logic        mem_axi_bready,
  output logic [ 3:0] mem_axi_arid,
  output logic [39:0] mem_axi_araddr,
  output logic [ 7:0] mem_axi_arlen,
  output logic [ 2:0] mem_axi_arsize,
  output logic [ 1:0] mem_axi_arburst,
  output logic [ 3:0] mem_axi_arcache,
  output logic [ 2:0] mem_axi_arprot,
  output logic [ 3:0] mem_axi_arqos,
  output logic [ 3:0] mem_axi_aruser,
  output logic        mem_axi_arvalid,
  input  logic        mem_axi_arready,
  input  logic [ 3:0] mem_axi_rid,
  input  logic [DataWidth-1:0] mem_axi_rdata,
  input  logic [ 1:0] mem_axi_rresp,
  input  logic        mem_axi_rlast,
  input  logic        mem_axi_rvalid,
  output logic        mem_axi_rready
);

  lite_req_t cpu_req, slot_ctrl_req;
  lite_rsp_t cpu_rsp, slot_ctrl_rsp;
  axi_req_t slot_mem_req, mem_req;
  axi_rsp_t slot_mem_rsp, mem_rsp;

  always_comb begin
    cpu_req = '0;
    cpu_req.aw.addr = cpu_axil_awaddr;
    cpu_req.aw.prot = cpu_axil_awprot;
    cpu_req.aw_valid = cpu_axil_awvalid;
    cpu_req.w.data = cpu_axil_wdata;
    cpu_req.w.strb = cpu_axil_wstrb;
    cpu_req.w_valid = cpu_axil_wvalid;
    cpu_req.b_ready = cpu_axil_bready;
    cpu_req.ar.addr = cpu_axil_araddr;
    cpu_req.ar.prot = cpu_axil_arprot;
    cpu_req.ar_valid = cpu_axil_arvalid;
    cpu_req.r_ready = cpu_axil_rready;
  end
  assign cpu_axil_awready = cpu_rsp.aw_ready;
  assign cpu_axil_wready = cpu_rsp.w_ready;
  assign cpu_axil_bresp = cpu_rsp.b_resp;
  assign cpu_axil_bvalid = cpu_rsp.b_valid;
  assign cpu_axil_arready = cpu_rsp.ar_ready;
  assign cpu_axil_rdata = cpu_rsp.r.data;
  assign cpu_axil_rresp = cpu_rsp.r.resp;
  assign cpu_axil_rvalid = cpu_rsp.r_valid;

  always_comb begin
    slot_ctrl_rsp = '0;
    slot_ctrl_rsp.aw_ready = slot_axil_awready;
    slot_ctrl_rsp.w_ready = slot_axil_wready;
    slot_ctrl_rsp.b_resp = slot_axil_bresp;
    slot_ctrl_rsp.b_valid = slot_axil_bvalid;
    slot_ctrl_rsp.ar_ready = slot_axil_arready;
    slot_ctrl_rsp.r.data = slot_axil_rdata;
    slot_ctrl_rsp.r.resp = slot_axil_rresp;
    slot_ctrl_rsp.r_valid = slot_axil_rvalid;
  end
  assign slot_axil_awaddr = slot_ctrl_req.aw.addr;
  assign slot_axil_awprot = slot_ctrl_req.aw.prot;
  assign slot_axil_awvalid = slot_ctrl_req.aw_valid;
  assign slot_axil_wdata = slot_ctrl_req.w.data;
  assign slot_axil_wstrb = slot_ctrl_req.w.strb;
  assign slot_axil_wvalid = slot_ctrl_req.w_valid;
  assign slot_axil_bready = slot_ctrl_req.b_ready;
  assign slot_axil_araddr = slot_ctrl_req.ar.addr;
  assign slot_axil_arprot = slot_ctrl_req.ar.prot;
  assign slot_axil_arvalid = slot_ctrl_req.ar_valid;
  assign slot_axil_rready = slot_ctrl_req.r_ready;

  always_comb begin
    slot_mem_req = '0;
    slot_mem_req.aw.id = slot_axi_awid;
    slot_mem_req.aw.addr = slot_axi_awaddr;
    slot_mem_req.aw.len = slot_axi_awlen;
    slot_mem_req.aw.size = slot_axi_awsize;
    slot_mem_req.aw.burst = slot_axi_awburst;
    slot_mem_req.aw.cache = slot_axi_awcache;
    slot_mem_req.aw.prot = slot_axi_awprot;
    slot_mem_req.aw.qos = slot_axi_awqos;
    slot_mem_req.aw.user = slot_axi_awuser;
    slot_mem_req.aw_valid = slot_axi_awvalid;
    slot_mem_req.w.data = slot_axi_wdata;
    slot_mem_req.w.strb = slot_axi_wstrb;
    slot_mem_req.w.last = slot_axi_wlast;
    slot_mem_req.w_valid = slot_axi_wvalid;
    slot_mem_req.b_ready = slot_axi_bready;
    slot_mem_req.ar.id = slot_axi_arid;
    slot_mem_req.ar.addr = slot_axi_araddr;
    slot_mem_req.ar.len = slot_axi_arlen;
    slot_mem_req.ar.size = slot_axi_arsize;
    slot_mem_req.ar.burst = slot_axi_arburst;
    slot_mem_req.ar.cache = slot_axi_arcache;
    slot_mem_req.ar.prot = slot_axi_arprot;
    slot_mem_req.ar.qos = slot_axi_arqos;
    slot_mem_req.ar.user = slot_axi_aruser;
    slot_mem_req.ar_valid = slot_axi_arvalid;
    slot_mem_req.r_ready = slot_axi_rready;
  end
  assign slot_axi_awready = slot_mem_rsp.aw_ready;
  assign slot_axi_wready = slot_mem_rsp.w_ready;
  assign slot_axi_bid = slot_mem_rsp.b.id;
  assign slot_axi_bresp = slot_mem_rsp.b.resp;
  assign slot_axi_bvalid = slot_mem_rsp.b_valid;
  assign slot_axi_arready = slot_mem_rsp.ar_ready;
  assign slot_axi_rid = slot_mem_rsp.r.id;
  assign slot_axi_rdata = slot_mem_rsp.r.data;
  assign slot_axi_rresp = slot_mem_rsp.r.resp;
  assign slot_axi_rlast = slot_mem_rsp.r.last;
  assign slot_axi_rvalid = slot_mem_rsp.r_valid;

  always_comb begin
    mem_rsp = '0;
    mem_rsp.aw_ready = mem_axi_awready;
    mem_rsp.w_ready = mem_axi_wready;
    mem_rsp.b.id = mem_axi_bid;
    mem_rsp.b.resp = mem_axi_bresp;
    mem_rsp.b_valid = mem_axi_bvalid;
    mem_rsp.ar_ready = mem_axi_arready;
    mem_rsp.r.id = mem_axi_rid;
    mem_rsp.r.data = mem_axi_rdata;
    mem_rsp.r.resp = mem_axi_rresp;
    mem_rsp.r.last = mem_axi_rlast;
    mem_rsp.r_valid = mem_axi_rvalid;
  end
  assign mem_axi_awid = mem_req.aw.id;
  assign mem_axi_awaddr = mem_req.aw.addr;
  assign mem_axi_awlen = mem_req.aw.len;
  assign mem_axi_awsize = mem_req.aw.size;
  assign mem_axi_awburst = mem_req.aw.burst;
  assign mem_axi_awcache = mem_req.aw.cache;
  assign mem_axi_awprot = mem_req.aw.prot;
  assign mem_axi_awqos = mem_req.aw.qos;
  assign mem_axi_awuser = mem_req.aw.user;
  assign mem_axi_awvalid = mem_req.aw_valid;
  assign mem_axi_wdata = mem_req.w.data;
  assign mem_axi_wstrb = mem_req.w.strb;
  assign mem_axi_wlast = mem_req.w.last;
  assign mem_axi_wvalid = mem_req.w_valid;
  assign mem_axi_bready = mem_req.b_ready;
  assign mem_axi_arid = mem_req.ar.id;
  assign mem_axi_araddr = mem_req.ar.addr;
  assign mem_axi_arlen = mem_req.ar.len;
  assign mem_axi_arsize = mem_req.ar.size;
  assign mem_axi_arburst = mem_req.ar.burst;
  assign mem_axi_arcache = mem_req.ar.cache;
  assign mem_axi_arprot = mem_req.ar.prot;
  assign mem_axi_arqos = mem_req.ar.qos;
  assign mem_axi_aruser = mem_req.ar.user;
  assign mem_axi_arvalid = mem_req.ar_valid;
  assign mem_axi_rready = mem_req.r_ready;

  window_t [NumWindows-1:0] windows;
  for (genvar i = 0; i < NumWindows; i++) begin : gen_windows
    assign windows[i] = '{
      contexts: window_contexts_i[i],
      write: window_write_i[i],
      read: window_read_i[i],
      last: window_last_i[i],
      base: window_base_i[i]
    };
  end

  // As software would: one word that differs a cycle, FLAGS before the others when a window closes and after them else.
  window_t table_q [NumWindows];
  logic windows_ready;
  logic [$clog2(NumWindows)-1:0] put_index;
  logic [1:0] put_word;
  logic [31:0] put_data;

  always_comb begin
    windows_set_o = 1'b1;
    put_index = '0;
    put_word = '0;
    for (int i = 0; i < NumWindows; i++) begin
      if (windows_ready && windows_set_o && windows[i] != table_q[i]) begin
        windows_set_o = 1'b0;
        put_index = $bits(put_index)'(i);
        if (windows[i].base == table_q[i].base && windows[i].last == table_q[i].last) put_word = 2'd2;
        else if ({table_q[i].read, table_q[i].write} != '0) put_word = 2'd3;
        else put_word = windows[i].base != table_q[i].base ? 2'd0 : 2'd1;
      end
    end
    unique case (put_word)
      2'd0: put_data = 32'(windows[put_index].base);
      2'd1: put_data = 32'(windows[put_index].last);
      2'd2: put_data = {windows[put_index].contexts, 14'd0, windows[put_index].write, windows[put_index].read};
      default: put_data = '0;
    endcase
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      for (int i = 0; i < NumWindows; i++) table_q[i] <= '0;
    end else if (!windows_set_o) begin
      unique case (put_word)
        2'd0: table_q[put_index].base <= windows[put_index].base;
        2'd1: table_q[put_index].last <= windows[put_index].last;
        2'd2: table_q[put_index] <= windows[put_index];
        // Closing: FLAGS with nothing allowed.
        default: begin
          table_q[put_index].contexts <= '0;
          table_q[put_index].write <= 1'b0;
          table_q[put_index].read <= 1'b0;
        end
      endcase
    end
  end

  // Between firewall and crossing, and between crossing and decoupler.
  lite_req_t fw_ctrl_req, cdc_ctrl_req;
  lite_rsp_t fw_ctrl_rsp, cdc_ctrl_rsp;
  axi_req_t fw_mem_req, cdc_mem_req;
  axi_rsp_t fw_mem_rsp, cdc_mem_rsp;
  logic path_rst_n, far_rst_n;

  if (Block == 1 || Block == 4) begin : gen_reset_pair
    reset_pair u_reset_pair (
      .clk_i,
      .rst_ni,
      .clear_i(clear_path_i),
      .rst_no(path_rst_n),
      .far_clk_i(slot_clk_i),
      .far_rst_no(far_rst_n)
    );
  end else begin : gen_no_reset_pair
    assign path_rst_n = rst_ni && !clear_path_i;
    assign far_rst_n = rst_ni && !clear_path_i;
  end
  assign path_rst_no = path_rst_n;

  if (Block == 3 || Block == 4) begin : gen_firewall
    fault_t fault;
    firewall #(
      .NumWindows(NumWindows),
      .MaxOutstanding(MaxOutstanding)
    ) u_firewall (
      .clk_i,
      .rst_ni,
      .path_rst_ni(path_rst_n),
      .ctrl_open_i,
      .mem_open_i,
      .quiesce_i,
      .slverr_i,
      .clear_i,
      .ctrl_timeout_i,
      .mem_timeout_i,
      .windows_ready_o(windows_ready),
      .window_sel_i(!windows_set_o),
      .window_write_i(1'b1),
      .window_index_i(put_index),
      .window_word_i(put_word == 2'd3 ? 2'd2 : put_word),
      .window_wdata_i(put_data),
      .window_rdata_o(),
      .revoke_i,
      .ctrl_idle_o,
      .mem_idle_o,
      .mem_drained_o,
      .isolated_o,
      .fault_o(fault),
      .cpu_req_i(cpu_req),
      .cpu_rsp_o(cpu_rsp),
      .slot_ctrl_req_o(fw_ctrl_req),
      .slot_ctrl_rsp_i(fw_ctrl_rsp),
      .slot_mem_req_i(fw_mem_req),
      .slot_mem_rsp_o(fw_mem_rsp),
      .mem_req_o(mem_req),
      .mem_rsp_i(mem_rsp)
    );
    assign {cause_o, fault_addr_o, fault_context_o} = fault;
  end else begin : gen_no_firewall
    assign windows_ready = 1'b0;
    assign {ctrl_idle_o, mem_idle_o, mem_drained_o, isolated_o, cause_o, fault_addr_o, fault_context_o} = '0;
    assign fw_ctrl_req = cpu_req;
    assign cpu_rsp = fw_ctrl_rsp;
    assign mem_req = fw_mem_req;
    assign fw_mem_rsp = mem_rsp;
  end

  if (Block == 1 || Block == 4) begin : gen_cdc
    axil_cdc #(
      // As in `slot_path`.
      .Depth(Block == 4 ? 1 : 8)
    ) u_ctrl (
      .src_clk_i(clk_i),
      .src_rst_ni(path_rst_n),
      .src_req_i(fw_ctrl_req),
      .src_rsp_o(fw_ctrl_rsp),
      .dst_clk_i(slot_clk_i),
      .dst_rst_ni(far_rst_n),
      .dst_req_o(cdc_ctrl_req),
      .dst_rsp_i(cdc_ctrl_rsp)
    );
    axi_cdc u_mem (
      .src_clk_i(slot_clk_i),
      .src_rst_ni(far_rst_n),
      .src_req_i(cdc_mem_req),
      .src_rsp_o(cdc_mem_rsp),
      .dst_clk_i(clk_i),
      .dst_rst_ni(path_rst_n),
      .dst_req_o(fw_mem_req),
      .dst_rsp_i(fw_mem_rsp)
    );
  end else begin : gen_no_cdc
    assign cdc_ctrl_req = fw_ctrl_req;
    assign fw_ctrl_rsp = cdc_ctrl_rsp;
    assign fw_mem_req = cdc_mem_req;
    assign cdc_mem_rsp = fw_mem_rsp;
  end

  if (Block == 2 || Block == 4) begin : gen_decoupler
    decoupler u_decoupler (
      .clk_i(Block == 4 ? slot_clk_i : clk_i),
      .rst_ni(far_rst_n),
      .ctrl_open_i,
      .mem_open_i,
      .irq_open_i,
      .ctrl_open_o,
      .mem_open_o,
      .irq_open_o,
      .ctrl_req_i(cdc_ctrl_req),
      .ctrl_rsp_o(cdc_ctrl_rsp),
      .slot_ctrl_req_o(slot_ctrl_req),
      .slot_ctrl_rsp_i(slot_ctrl_rsp),
      .slot_mem_req_i(slot_mem_req),
      .slot_mem_rsp_o(slot_mem_rsp),
      .mem_req_o(cdc_mem_req),
      .mem_rsp_i(cdc_mem_rsp),
      .slot_irq_i,
      .irq_o
    );
  end else begin : gen_no_decoupler
    assign {ctrl_open_o, mem_open_o, irq_open_o, irq_o} = '0;
    if (Block == 0) begin : gen_skid
      axil_skid u_ctrl (
        .clk_i,
        .rst_ni,
        .req_i(cdc_ctrl_req),
        .rsp_o(cdc_ctrl_rsp),
        .req_o(slot_ctrl_req),
        .rsp_i(slot_ctrl_rsp)
      );
      axi_skid u_mem (
        .clk_i,
        .rst_ni,
        .req_i(slot_mem_req),
        .rsp_o(slot_mem_rsp),
        .req_o(cdc_mem_req),
        .rsp_i(cdc_mem_rsp)
      );
    end else begin : gen_wires
      assign slot_ctrl_req = cdc_ctrl_req;
      assign cdc_ctrl_rsp = slot_ctrl_rsp;
      assign cdc_mem_req = slot_mem_req;
      assign slot_mem_rsp = cdc_mem_rsp;
    end
  end

endmodule
