// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
`include "axi_ports.svh"

/// The static region: routes the CPU's register accesses to the slots and the slots' bursts to memory, and isolates the slots
/// from each other.
///
/// The CPU's 16 MiB window holds the shell's registers, the interrupt controller, and for each slot its control bank and
/// the registers of its module (`window_addr_pkg`, from hw/regs/top/window.rdl). Any other access is answered with a
/// poison value. Clocking wizards are beside the shell, not in it.
///
/// With `Streams`, what a slot writes into one buffer may go to another slot instead (`stream_link`).
///
/// With `Engine`, a configuration engine takes images from memory to ICAPE3, which is beside the shell: it asks for memory
/// in turn with the slots, as one more of them, and answers in a bank of its own.
///
/// Toward memory, the slot is in the upper four bits of id and user, the module's own id and context in the lower; the
/// engine counts as the slot after the last.
/// Every output is a flop of its clock. In an idle cycle `u_shell_bank.cycles_q` is the only register that changes.
module shell
  import eddy_pkg::*;
#(
  /// Slots, 1 to 10.
  parameter int unsigned NumSlots = 4,
  /// Hash of sources and toolchain, for software to check.
  parameter logic [63:0] BuildHash = '0,
  /// Bytes of the cache that the slots share, a power of two; 0: none. And its ways.
  parameter int unsigned CacheBytes = 0,
  parameter int unsigned CacheWays = 4,
  /// Whether there is a configuration engine.
  parameter bit          Engine = 1'b0,
  /// Whether there are streams from slot to slot (`stream_link`).
  parameter bit          Streams = 1'b0,
  /// Requests of one slot, and of all together, that may be with memory in each direction: a power of two.
  parameter int unsigned MemRequests = 8,
  /// Beats that may be with memory in each direction when a further request goes.
  parameter int unsigned MemBeats = 32
) (
  input  logic clk_i,
  /// Synchronous reset, active low.
  input  logic rst_ni,

  // The CPU's register accesses.
  `AXIL_PORTS(s_axil, 24, input logic, output logic),

  // Memory.
  `AXI_PORTS(m_axi, 8, 40, DataWidth, output logic, input logic),
  `AXI_ATTRIBUTE_PORTS(m_axi, 8, output logic),

  /// Configuration port (ICAPE3: AVAIL, PRDONE, PRERROR), of any clock; of `icap_clk_i` with an engine.
  input  logic cfg_avail_i,
  input  logic cfg_prdone_i,
  input  logic cfg_prerror_i,
  /// The engine's clock of it (ICAPE3: CLK), whatever its rate, and pins (CSIB, RDWRB, I, O); closed where there is none.
  input  logic        icap_clk_i,
  output logic        icap_csib_o,
  output logic        icap_rdwrb_o,
  output logic [31:0] icap_i_o,
  input  logic [31:0] icap_o_i,
  /// The engine has a load under way. For simulators alone, which need not ask it in every cycle.
  output logic        engine_busy_o,
  /// To the processor.
  output logic irq_o,

  /// `clk_i` once more, for `ctrl_xbar` alone, and for the path of slot k alone. Only a simulator may leave out edges of
  /// these, of `slot_clk_i` and of `icap_clk_i`: those that would change nothing. Where an edge has changed nothing there, further edges
  /// change nothing while the wake is low and the CPU's inputs (of `ctrl_xbar`) or the slot's (of its path) stay.
  input  logic                bus_clk_i,
  output logic                bus_wake_o,
  input  logic [NumSlots-1:0] path_clk_i,
  output logic [NumSlots-1:0] path_wake_o,

  // The slots, each on its own clock.
  input  logic [NumSlots-1:0] slot_clk_i,
  output logic [NumSlots-1:0] slot_rst_no,
  `AXIL_PORTS(slot_s_axil, 16, output logic [NumSlots-1:0], input logic [NumSlots-1:0]),
  `AXI_PORTS(slot_m_axi, 4, 40, DataWidth, input logic [NumSlots-1:0], output logic [NumSlots-1:0]),
  `AXI_ATTRIBUTE_PORTS(slot_m_axi, 4, input logic [NumSlots-1:0]),
  input  logic [NumSlots-1:0] slot_irq_i
);

  if (NumSlots < 1 || NumSlots > 10) begin : gen_check_slots
    $fatal(1, "shell: NumSlots must be 1 to 10");
  end
  if (DataWidth != 64 && DataWidth != 128) begin : gen_check_width
    $fatal(1, "shell: EDDY_MEMORY_BITS must be 64 or 128");
  end
  if (DataWidth != 64 && CacheBytes != 0) begin : gen_check_cache
    $fatal(1, "shell: the cache has words of 64 bits");
  end

  // Banks of the CPU's window: shell, interrupts, control banks, modules, streams, engine.
  localparam int unsigned NumBanks = 2 + 2 * NumSlots + 32'(Streams) + 32'(Engine);
  // Managers of the memory path: slots, engine.
  localparam int unsigned NumPorts = NumSlots + 32'(Engine);

  logic [NumBanks-1:0] sel, ack, err, fail;
  logic [31:0] rdata [NumBanks];
  logic write, slverr, miss, cfg_avail, cfg_prdone, cfg_prerror, cfg_irq, engine_irq;
  logic [15:0] addr;
  logic [2:0] prot;
  logic [31:0] wdata;
  logic [3:0] wstrb;
  logic [23:0] miss_addr;
  logic [63:0] cycles;
  logic [NumSlots-1:0] slot_irq, slot_fault_irq;
  logic [31:0] interrupts;

  ax_t mem_aw [NumPorts];
  ax_t mem_ar [NumPorts];
  w_t mem_w [NumPorts];
  logic [NumPorts-1:0] mem_aw_valid, mem_aw_ready, mem_w_valid, mem_w_ready, mem_b_valid;
  logic [NumPorts-1:0] mem_ar_valid, mem_ar_ready, mem_r_valid;
  w_t w;

  // Between the crossbar and memory, or the cache: requests, and responses with their slot.
  ax_t aw, ar;
  logic [3:0] aw_slot, ar_slot;
  logic aw_valid, aw_ready, ar_valid, ar_ready;
  r_t r;
  logic [3:0] r_slot;
  logic r_valid;
  ax_t mem_out_aw, mem_out_ar;
  logic [3:0] mem_out_aw_slot, mem_out_ar_slot;
  logic [NumSlots-1:0] path_wake, link_wake;
  // Memory as each slot's path asks for it, and what of it is no stream.
  axi_req_t path_req [NumSlots];
  axi_rsp_t path_rsp [NumSlots];
  axi_req_t mem_req [NumSlots];
  axi_rsp_t mem_rsp [NumSlots];

  // The cache's registers.
  logic [15:0] cache_force;
  logic cache_flush, cache_flush_busy;
  logic [27:0] cache_flush_first, cache_flush_last;
  logic [3:0] cache_slot;
  logic [63:0] cache_hits, cache_misses;

  assign bus_wake_o = !rst_ni || ack != '0;

  ctrl_xbar #(
    .NumSlots(NumSlots),
    .Engine(Engine),
    .Streams(Streams)
  ) u_ctrl_xbar (
    .clk_i(bus_clk_i),
    .rst_ni,
    `AXIL_CONNECT(s_axil, s_axil,),
    .slverr_i(slverr),
    .miss_o(miss),
    .miss_addr_o(miss_addr),
    .sel_o(sel),
    .write_o(write),
    .addr_o(addr),
    .prot_o(prot),
    .wdata_o(wdata),
    .wstrb_o(wstrb),
    .ack_i(ack),
    .err_i(err),
    .fail_i(fail),
    .rdata_i(rdata)
  );

  shell_bank #(
    .NumSlots(NumSlots),
    .BuildHash(BuildHash),
    .CacheBytes(CacheBytes),
    .CacheWays(CacheWays)
  ) u_shell_bank (
    .clk_i,
    .rst_ni,
    .sel_i(sel[0]),
    .write_i(write),
    .addr_i(addr),
    .wdata_i(wdata),
    .wstrb_i(wstrb),
    .ack_o(ack[0]),
    .err_o(err[0]),
    .rdata_o(rdata[0]),
    .slverr_o(slverr),
    .miss_i(miss),
    .miss_addr_i(miss_addr),
    .cycles_o(cycles),
    .cfg_avail_i(cfg_avail),
    .cfg_prdone_i(cfg_prdone),
    .cfg_prerror_i(cfg_prerror),
    .cfg_irq_o(cfg_irq),
    .cache_force_o(cache_force),
    .cache_flush_o(cache_flush),
    .cache_flush_first_o(cache_flush_first),
    .cache_flush_last_o(cache_flush_last),
    .cache_flush_busy_i(cache_flush_busy),
    .cache_slot_o(cache_slot),
    .cache_hits_i(cache_hits),
    .cache_misses_i(cache_misses)
  );

  always_comb begin
    interrupts = '0;
    interrupts[axi_intc_regs_pkg::InputModule+:NumSlots] = slot_irq;
    interrupts[axi_intc_regs_pkg::InputFault+:NumSlots] = slot_fault_irq;
    interrupts[axi_intc_regs_pkg::InputConfiguration] = cfg_irq || engine_irq;
  end

  axi_intc u_axi_intc (
    .clk_i,
    .rst_ni,
    .irq_i(interrupts),
    .irq_o,
    .sel_i(sel[1]),
    .write_i(write),
    .addr_i(addr[15:2]),
    .wdata_i(wdata),
    .ack_o(ack[1]),
    .err_o(err[1]),
    .rdata_o(rdata[1])
  );

  assign fail[1:0] = '0;

  for (genvar k = 0; k < NumSlots; k++) begin : gen_slot
    lite_req_t ctrl_req;
    lite_rsp_t ctrl_rsp;
    axi_req_t slot_req;
    axi_rsp_t slot_rsp;

    slot_path #(
      .MaxOutstanding(MemRequests)
    ) u_path (
      .clk_i(path_clk_i[k]),
      .rst_ni,
      .cycles_i(cycles),
      .bank_sel_i(sel[2+k]),
      .module_sel_i(sel[2+NumSlots+k]),
      .write_i(write),
      .addr_i(addr),
      .prot_i(prot),
      .wdata_i(wdata),
      .wstrb_i(wstrb),
      .bank_ack_o(ack[2+k]),
      .bank_err_o(err[2+k]),
      .bank_rdata_o(rdata[2+k]),
      .module_ack_o(ack[2+NumSlots+k]),
      .module_fail_o(fail[2+NumSlots+k]),
      .module_rdata_o(rdata[2+NumSlots+k]),
      .irq_o(slot_irq[k]),
      .fault_irq_o(slot_fault_irq[k]),
      .mem_req_o(path_req[k]),
      .mem_rsp_i(path_rsp[k]),
      .slot_clk_i(slot_clk_i[k]),
      .slot_rst_no(slot_rst_no[k]),
      .slot_ctrl_req_o(ctrl_req),
      .slot_ctrl_rsp_i(ctrl_rsp),
      .slot_mem_req_i(slot_req),
      .slot_mem_rsp_o(slot_rsp),
      .slot_irq_i(slot_irq_i[k]),
      .wake_o(path_wake[k])
    );

    assign mem_aw[k] = mem_req[k].aw;
    assign mem_aw_valid[k] = mem_req[k].aw_valid;
    assign mem_w[k] = mem_req[k].w;
    assign mem_w_valid[k] = mem_req[k].w_valid;
    assign mem_ar[k] = mem_req[k].ar;
    assign mem_ar_valid[k] = mem_req[k].ar_valid;
    assign mem_rsp[k].aw_ready = mem_aw_ready[k];
    assign mem_rsp[k].w_ready = mem_w_ready[k];
    assign mem_rsp[k].b = {m_axi_bid[3:0], m_axi_bresp};
    assign mem_rsp[k].b_valid = mem_b_valid[k];
    assign mem_rsp[k].ar_ready = mem_ar_ready[k];
    assign mem_rsp[k].r = r;
    assign mem_rsp[k].r_valid = mem_r_valid[k];

`ifndef SYNTHESIS
    always_ff @(posedge clk_i) begin
      AnswersAreAlwaysTaken_A :
      assert (!rst_ni || (path_req[k].b_ready && path_req[k].r_ready))
      else $error("shell: a slot's path could hold up the memory it shares");
    end
`endif

    assign fail[2+k] = 1'b0;
    assign err[2+NumSlots+k] = 1'b0;

    assign slot_s_axil_awaddr[k] = ctrl_req.aw.addr;
    assign slot_s_axil_awprot[k] = ctrl_req.aw.prot;
    assign slot_s_axil_awvalid[k] = ctrl_req.aw_valid;
    assign slot_s_axil_wdata[k] = ctrl_req.w.data;
    assign slot_s_axil_wstrb[k] = ctrl_req.w.strb;
    assign slot_s_axil_wvalid[k] = ctrl_req.w_valid;
    assign slot_s_axil_bready[k] = ctrl_req.b_ready;
    assign slot_s_axil_araddr[k] = ctrl_req.ar.addr;
    assign slot_s_axil_arprot[k] = ctrl_req.ar.prot;
    assign slot_s_axil_arvalid[k] = ctrl_req.ar_valid;
    assign slot_s_axil_rready[k] = ctrl_req.r_ready;

    always_comb begin
      ctrl_rsp.aw_ready = slot_s_axil_awready[k];
      ctrl_rsp.w_ready = slot_s_axil_wready[k];
      ctrl_rsp.b_resp = slot_s_axil_bresp[k];
      ctrl_rsp.b_valid = slot_s_axil_bvalid[k];
      ctrl_rsp.ar_ready = slot_s_axil_arready[k];
      ctrl_rsp.r.data = slot_s_axil_rdata[k];
      ctrl_rsp.r.resp = slot_s_axil_rresp[k];
      ctrl_rsp.r_valid = slot_s_axil_rvalid[k];
    end

    always_comb begin
      slot_req.aw.id = slot_m_axi_awid[k];
      slot_req.aw.addr = slot_m_axi_awaddr[k];
      slot_req.aw.len = slot_m_axi_awlen[k];
      slot_req.aw.size = slot_m_axi_awsize[k];
      slot_req.aw.burst = slot_m_axi_awburst[k];
      slot_req.aw.cache = slot_m_axi_awcache[k];
      slot_req.aw.prot = slot_m_axi_awprot[k];
      slot_req.aw.qos = slot_m_axi_awqos[k];
      slot_req.aw.user = slot_m_axi_awuser[k];
      slot_req.aw_valid = slot_m_axi_awvalid[k];
      slot_req.w.data = slot_m_axi_wdata[k];
      slot_req.w.strb = slot_m_axi_wstrb[k];
      slot_req.w.last = slot_m_axi_wlast[k];
      slot_req.w_valid = slot_m_axi_wvalid[k];
      slot_req.b_ready = slot_m_axi_bready[k];
      slot_req.ar.id = slot_m_axi_arid[k];
      slot_req.ar.addr = slot_m_axi_araddr[k];
      slot_req.ar.len = slot_m_axi_arlen[k];
      slot_req.ar.size = slot_m_axi_arsize[k];
      slot_req.ar.burst = slot_m_axi_arburst[k];
      slot_req.ar.cache = slot_m_axi_arcache[k];
      slot_req.ar.prot = slot_m_axi_arprot[k];
      slot_req.ar.qos = slot_m_axi_arqos[k];
      slot_req.ar.user = slot_m_axi_aruser[k];
      slot_req.ar_valid = slot_m_axi_arvalid[k];
      slot_req.r_ready = slot_m_axi_rready[k];
    end

    assign slot_m_axi_awready[k] = slot_rsp.aw_ready;
    assign slot_m_axi_wready[k] = slot_rsp.w_ready;
    assign slot_m_axi_bid[k] = slot_rsp.b.id;
    assign slot_m_axi_bresp[k] = slot_rsp.b.resp;
    assign slot_m_axi_bvalid[k] = slot_rsp.b_valid;
    assign slot_m_axi_arready[k] = slot_rsp.ar_ready;
    assign slot_m_axi_rid[k] = slot_rsp.r.id;
    assign slot_m_axi_rdata[k] = slot_rsp.r.data;
    assign slot_m_axi_rresp[k] = slot_rsp.r.resp;
    assign slot_m_axi_rlast[k] = slot_rsp.r.last;
    assign slot_m_axi_rvalid[k] = slot_rsp.r_valid;
  end

  if (Streams) begin : gen_streams
    stream_link #(
      .NumSlots(NumSlots),
      .MaxParts(8)
    ) u_stream_link (
      .clk_i,
      .rst_ni,
      .sel_i(sel[2+2*NumSlots]),
      .write_i(write),
      .addr_i(addr),
      .wdata_i(wdata),
      .wstrb_i(wstrb),
      .ack_o(ack[2+2*NumSlots]),
      .err_o(err[2+2*NumSlots]),
      .rdata_o(rdata[2+2*NumSlots]),
      .req_i(path_req),
      .rsp_o(path_rsp),
      .wake_o(link_wake),
      .req_o(mem_req),
      .rsp_i(mem_rsp)
    );

    assign fail[2+2*NumSlots] = 1'b0;
  end else begin : gen_no_streams
    assign mem_req = path_req;
    assign path_rsp = mem_rsp;
    assign link_wake = '0;
  end

  if (Engine) begin : gen_engine
    localparam int unsigned Port = NumSlots;

    icap_engine u_engine (
      .clk_i,
      .rst_ni,
      .sel_i(sel[NumBanks-1]),
      .write_i(write),
      .addr_i(addr),
      .wdata_i(wdata),
      .wstrb_i(wstrb),
      .ack_o(ack[NumBanks-1]),
      .err_o(err[NumBanks-1]),
      .rdata_o(rdata[NumBanks-1]),
      .irq_o(engine_irq),
      .busy_o(engine_busy_o),
      .ar_o(mem_ar[Port]),
      .ar_valid_o(mem_ar_valid[Port]),
      .ar_ready_i(mem_ar_ready[Port]),
      .r_i(r),
      .r_valid_i(mem_r_valid[Port]),
      .port_clk_i(icap_clk_i),
      .csib_o(icap_csib_o),
      .rdwrb_o(icap_rdwrb_o),
      .i_o(icap_i_o),
      .o_i(icap_o_i),
      .avail_i(cfg_avail_i),
      .prdone_i(cfg_prdone_i),
      .prerror_i(cfg_prerror_i),
      .avail_o(cfg_avail),
      .prdone_o(cfg_prdone),
      .prerror_o(cfg_prerror)
    );

    assign fail[NumBanks-1] = 1'b0;
    assign mem_aw[Port] = '0;
    assign mem_aw_valid[Port] = 1'b0;
    assign mem_w[Port] = '0;
    assign mem_w_valid[Port] = 1'b0;

    logic unused;
    assign unused = ^{mem_aw_ready[Port], mem_w_ready[Port], mem_b_valid[Port]};
  end else begin : gen_no_engine
    assign engine_irq = 1'b0;
    assign engine_busy_o = 1'b0;
    assign icap_csib_o = 1'b1;
    assign icap_rdwrb_o = 1'b1;
    assign icap_i_o = '0;
    assign cfg_avail = cfg_avail_i;
    assign cfg_prdone = cfg_prdone_i;
    assign cfg_prerror = cfg_prerror_i;

    logic unused;
    assign unused = ^{icap_clk_i, icap_o_i};
  end

  mem_xbar #(
    .NumSlots(NumPorts),
    .MaxWrites(MemRequests),
    .MaxReads(MemRequests),
    .MaxBeats(MemBeats)
  ) u_mem_xbar (
    .clk_i,
    .rst_ni,
    .slot_aw_i(mem_aw),
    .slot_aw_valid_i(mem_aw_valid),
    .slot_aw_ready_o(mem_aw_ready),
    .slot_w_i(mem_w),
    .slot_w_valid_i(mem_w_valid),
    .slot_w_ready_o(mem_w_ready),
    .slot_b_valid_o(mem_b_valid),
    .slot_ar_i(mem_ar),
    .slot_ar_valid_i(mem_ar_valid),
    .slot_ar_ready_o(mem_ar_ready),
    .slot_r_valid_o(mem_r_valid),
    .aw_o(aw),
    .aw_slot_o(aw_slot),
    .aw_valid_o(aw_valid),
    .aw_ready_i(aw_ready),
    .w_o(w),
    .w_valid_o(m_axi_wvalid),
    .w_ready_i(m_axi_wready),
    .b_slot_i(m_axi_bid[7:4]),
    .b_valid_i(m_axi_bvalid),
    .b_ready_o(m_axi_bready),
    .ar_o(ar),
    .ar_slot_o(ar_slot),
    .ar_valid_o(ar_valid),
    .ar_ready_i(ar_ready),
    .r_slot_i(r_slot),
    .r_valid_i(r_valid),
    .r_last_i(r.last),
    .r_ready_o(m_axi_rready)
  );

  if (CacheBytes == 0) begin : gen_no_cache
    assign mem_out_aw = aw;
    assign mem_out_aw_slot = aw_slot;
    assign m_axi_awvalid = aw_valid;
    assign aw_ready = m_axi_awready;
    assign mem_out_ar = ar;
    assign mem_out_ar_slot = ar_slot;
    assign m_axi_arvalid = ar_valid;
    assign ar_ready = m_axi_arready;
    assign r = {m_axi_rid[3:0], m_axi_rdata, m_axi_rresp, m_axi_rlast};
    assign r_slot = m_axi_rid[7:4];
    assign r_valid = m_axi_rvalid;
    assign path_wake_o = path_wake | link_wake;
    assign cache_flush_busy = 1'b0;
    assign cache_hits = '0;
    assign cache_misses = '0;

    logic unused;
    assign unused = ^{cache_force, cache_flush, cache_flush_first, cache_flush_last, cache_slot};
  end else begin : gen_cache
    system_cache #(
      .CacheBytes(CacheBytes),
      .Ways(CacheWays)
    ) u_system_cache (
      .clk_i,
      .rst_ni,
      .aw_i(aw),
      .aw_slot_i(aw_slot),
      .aw_valid_i(aw_valid),
      .aw_ready_o(aw_ready),
      .ar_i(ar),
      .ar_slot_i(ar_slot),
      .ar_valid_i(ar_valid),
      .ar_ready_o(ar_ready),
      .r_o(r),
      .r_slot_o(r_slot),
      .r_valid_o(r_valid),
      .aw_o(mem_out_aw),
      .aw_slot_o(mem_out_aw_slot),
      .aw_valid_o(m_axi_awvalid),
      .aw_ready_i(m_axi_awready),
      .b_valid_i(m_axi_bvalid),
      .b_id_i(m_axi_bid),
      .ar_o(mem_out_ar),
      .ar_slot_o(mem_out_ar_slot),
      .ar_valid_o(m_axi_arvalid),
      .ar_ready_i(m_axi_arready),
      .r_i({m_axi_rid[3:0], m_axi_rdata, m_axi_rresp, m_axi_rlast}),
      .r_slot_i(m_axi_rid[7:4]),
      .r_valid_i(m_axi_rvalid),
      // An image is read once: cached, it would only evict lines that slots read again.
      .force_i(cache_force & ~(16'(Engine) << NumSlots)),
      .flush_i(cache_flush),
      .flush_first_i(cache_flush_first),
      .flush_last_i(cache_flush_last),
      .flush_busy_o(cache_flush_busy),
      .show_i(sel[0]),
      .show_slot_i(cache_slot),
      .hits_o(cache_hits),
      .misses_o(cache_misses)
    );

    // Answers come from inside the shell: whoever leaves out edges of a path cannot see them coming at the port.
    for (genvar k = 0; k < NumSlots; k++) begin : gen_wake
      assign path_wake_o[k] = path_wake[k] || link_wake[k] || (r_valid && r_slot == 4'(k));
    end
  end

  assign m_axi_awid = {mem_out_aw_slot, mem_out_aw.id};
  assign m_axi_awuser = {mem_out_aw_slot, mem_out_aw.user};
  assign m_axi_awaddr = mem_out_aw.addr;
  assign m_axi_awlen = mem_out_aw.len;
  assign m_axi_awsize = mem_out_aw.size;
  assign m_axi_awburst = mem_out_aw.burst;
  assign m_axi_awcache = mem_out_aw.cache;
  assign m_axi_awprot = mem_out_aw.prot;
  assign m_axi_awqos = mem_out_aw.qos;
  assign m_axi_wdata = w.data;
  assign m_axi_wstrb = w.strb;
  assign m_axi_wlast = w.last;
  assign m_axi_arid = {mem_out_ar_slot, mem_out_ar.id};
  assign m_axi_aruser = {mem_out_ar_slot, mem_out_ar.user};
  assign m_axi_araddr = mem_out_ar.addr;
  assign m_axi_arlen = mem_out_ar.len;
  assign m_axi_arsize = mem_out_ar.size;
  assign m_axi_arburst = mem_out_ar.burst;
  assign m_axi_arcache = mem_out_ar.cache;
  assign m_axi_arprot = mem_out_ar.prot;
  assign m_axi_arqos = mem_out_ar.qos;

endmodule
