// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
/// A GPU cluster with the slot's boundary: cores, their registers, their way to memory. Every output is a flop.
///
/// Docs: docs/explanations/gpu-cluster.md; registers: hw/regs/gpu_cluster.rdl; instructions: docs/reference/gpu-isa.md.
module gpu_cluster
  import eddy_pkg::*;
  import gpu_pkg::*;
#(
  /// Cores, 1 to 8.
  parameter int unsigned Cores = 1,
  /// Warps a core, 1 to 16.
  parameter int unsigned Warps = 4,
  /// Lanes of a warp, 1 to 16.
  parameter int unsigned Threads = 4,
  /// Floating-point unit in every core.
  parameter bit Fpu = 1'b0,
  /// Sizes of a core's caches and local memory in bytes, powers of two.
  parameter int unsigned IcacheBytes = 4096,
  parameter int unsigned DcacheBytes = 8192,
  parameter int unsigned LocalBytes = 16384,
  /// Size of the second-level cache that all cores share, a power of two of at least 256; 0: none.
  parameter int unsigned L2Bytes = 0,
  parameter int unsigned StarveBound = 4096,
  /// Shown in the identity block.
  parameter logic [63:0] BuildHash = '0
) (
  `include "slot_ports.svh"
);

  if (Cores < 1 || Cores > 8) begin : gen_check_cores
    $fatal(1, "gpu_cluster: Cores must be 1 to 8");
  end

  // ---- Boundary

  lite_req_t lite_in, lite;
  lite_rsp_t lite_out, lite_answer;
  axi_req_t lines, axi, axi_out;
  axi_rsp_t lines_answer, axi_answer, axi_in;

  assign lite_in = '{
    aw: '{addr: s_axil_awaddr, prot: s_axil_awprot}, aw_valid: s_axil_awvalid,
    w: '{data: s_axil_wdata, strb: s_axil_wstrb}, w_valid: s_axil_wvalid, b_ready: s_axil_bready,
    ar: '{addr: s_axil_araddr, prot: s_axil_arprot}, ar_valid: s_axil_arvalid, r_ready: s_axil_rready
  };
  assign s_axil_awready = lite_out.aw_ready;
  assign s_axil_wready = lite_out.w_ready;
  assign s_axil_bresp = lite_out.b_resp;
  assign s_axil_bvalid = lite_out.b_valid;
  assign s_axil_arready = lite_out.ar_ready;
  assign s_axil_rdata = lite_out.r.data;
  assign s_axil_rresp = lite_out.r.resp;
  assign s_axil_rvalid = lite_out.r_valid;

  axil_skid u_lite (.clk_i, .rst_ni, .req_i(lite_in), .rsp_o(lite_out), .req_o(lite), .rsp_i(lite_answer));

  ax_t aw_out, ar_out;
  w_t w_out;
  assign aw_out = axi_out.aw;
  assign ar_out = axi_out.ar;
  assign w_out = axi_out.w;

  // The payload of a channel that has none is anything, so that a simulation need not take it apart; in gates it is the register.
  always_comb begin
    m_axi_awid = 'x;
    m_axi_awaddr = 'x;
    m_axi_awlen = 'x;
    m_axi_awsize = 'x;
    m_axi_awburst = 'x;
    m_axi_awcache = 'x;
    m_axi_awprot = 'x;
    m_axi_awqos = 'x;
    m_axi_awuser = 'x;
    if (m_axi_awvalid) begin
      m_axi_awid = aw_out.id;
      m_axi_awaddr = aw_out.addr;
      m_axi_awlen = aw_out.len;
      m_axi_awsize = aw_out.size;
      m_axi_awburst = aw_out.burst;
      m_axi_awcache = aw_out.cache;
      m_axi_awprot = aw_out.prot;
      m_axi_awqos = aw_out.qos;
      m_axi_awuser = aw_out.user;
    end
  end

  always_comb begin
    m_axi_arid = 'x;
    m_axi_araddr = 'x;
    m_axi_arlen = 'x;
    m_axi_arsize = 'x;
    m_axi_arburst = 'x;
    m_axi_arcache = 'x;
    m_axi_arprot = 'x;
    m_axi_arqos = 'x;
    m_axi_aruser = 'x;
    if (m_axi_arvalid) begin
      m_axi_arid = ar_out.id;
      m_axi_araddr = ar_out.addr;
      m_axi_arlen = ar_out.len;
      m_axi_arsize = ar_out.size;
      m_axi_arburst = ar_out.burst;
      m_axi_arcache = ar_out.cache;
      m_axi_arprot = ar_out.prot;
      m_axi_arqos = ar_out.qos;
      m_axi_aruser = ar_out.user;
    end
  end

  always_comb begin
    m_axi_wdata = 'x;
    m_axi_wstrb = 'x;
    m_axi_wlast = 'x;
    if (m_axi_wvalid) begin
      m_axi_wdata = w_out.data;
      m_axi_wstrb = w_out.strb;
      m_axi_wlast = w_out.last;
    end
  end

  assign m_axi_awvalid = axi_out.aw_valid;
  assign m_axi_wvalid = axi_out.w_valid;
  assign m_axi_bready = axi_out.b_ready;
  assign m_axi_arvalid = axi_out.ar_valid;
  assign m_axi_rready = axi_out.r_ready;
  assign axi_in = '{
    aw_ready: m_axi_awready, w_ready: m_axi_wready,
    b: '{id: m_axi_bid, resp: m_axi_bresp}, b_valid: m_axi_bvalid, ar_ready: m_axi_arready,
    r: '{id: m_axi_rid, data: m_axi_rdata, resp: m_axi_rresp, last: m_axi_rlast}, r_valid: m_axi_rvalid
  };

  axi_skid u_axi (.clk_i, .rst_ni, .req_i(axi), .rsp_o(axi_answer), .req_o(axi_out), .rsp_i(axi_in));

  // ---- Registers

  localparam logic [31:0] Config = {7'd0, 1'(Fpu), 3'd0, 5'(Threads), 3'd0, 5'(Warps), 4'd0, 4'(Cores)};
  localparam logic [31:0] Limits = {
    3'd0, (L2Bytes > 0) ? 5'($clog2(L2Bytes)) : 5'd0, 3'd0, 5'($clog2(LocalBytes)), 3'd0, 5'($clog2(DcacheBytes)), 3'd0, 5'($clog2(IcacheBytes))
  };
  // What applications ask for first: an FPU (bit 0) and the data cache's size (bits 15:8, a power of two).
  localparam logic [31:0] CapReset = {16'd0, 8'($clog2(DcacheBytes)), 7'd0, 1'(Fpu)};

  logic [Cores-1:0] start, stop, running, fault, snapshot;
  logic keep_counters;
  logic [31:0] start_pc [Cores];
  logic [31:0] start_arg [Cores];
  logic [ContextWidth-1:0] ctx [Cores];
  logic [27:0] base [Cores][4];
  logic [7:0] core_id [Cores];
  logic [7:0] num_cores [Cores];
  logic [31:0] cap;
  logic [4:0] fault_cause [Cores];
  logic [31:0] fault_pc [Cores];
  logic [31:0] fault_value [Cores];
  logic counter_read;
  logic [5:0] counter_index;
  logic [63:0] counter [Cores];
  logic l2_write, l2_read;
  logic [7:0] l2_waddr, l2_raddr;
  logic [31:0] l2_wdata, l2_wmask, l2_rdata;

  gpu_bank #(
    .Cores(Cores), .Config(Config), .Limits(Limits), .CapReset(CapReset), .BuildHash(BuildHash)
  ) u_bank (
    .clk_i, .rst_ni, .lite_i(lite), .lite_o(lite_answer), .irq_o,
    .start_o(start), .stop_o(stop), .keep_counters_o(keep_counters),
    .start_pc_o(start_pc), .start_arg_o(start_arg), .context_o(ctx), .base_o(base),
    .core_id_o(core_id), .num_cores_o(num_cores), .cap_o(cap),
    .running_i(running), .fault_i(fault), .fault_cause_i(fault_cause), .fault_pc_i(fault_pc),
    .fault_value_i(fault_value),
    .snapshot_o(snapshot), .counter_read_o(counter_read), .counter_index_o(counter_index), .counter_i(counter),
    .l2_write_o(l2_write), .l2_waddr_o(l2_waddr), .l2_wdata_o(l2_wdata), .l2_wmask_o(l2_wmask), .l2_read_o(l2_read),
    .l2_raddr_o(l2_raddr), .l2_rdata_i(l2_rdata)
  );

  // ---- Cores

  // Lines of data that a core may have on their way.
  localparam int unsigned DataReads = (L2Bytes > 0) ? 4 : 8;

  logic [2*Cores-1:0] rd_valid, rd_ready, rd_beat;
  logic [LineAddrWidth-1:0] rd_line [2*Cores];
  logic [63:0] rd_data;
  logic rd_last, rd_error, wr_error;
  logic [Cores-1:0] wr_valid, wr_ready, wr_done;
  logic [LineAddrWidth-1:0] wr_line [Cores];
  logic [LineBytes/8-1:0] wr_beats [Cores];
  logic [2:0] wr_beat;
  logic [63:0] wr_data [Cores];
  logic [7:0] wr_strb [Cores];
  logic [Cores-1:0] bar, bar_release, bar_stuck;
  logic [4:0] bar_id [Cores];
  logic [7:0] bar_count [Cores];
  logic [4:0] bar_warps [Cores];
  logic [Cores-1:0] lock, lock_grant;
  logic [1:0] lock_quarter [Cores];
  logic [5:0] lock_line [Cores];

  for (genvar c = 0; c < int'(Cores); c++) begin : gen_core
    gpu_core #(
      .Warps(Warps), .Threads(Threads), .Fpu(Fpu), .IcacheBytes(IcacheBytes), .DcacheBytes(DcacheBytes),
      .LocalBytes(LocalBytes),
      .DataReads(DataReads), .StarveBound(StarveBound)
    ) u_core (
      .clk_i, .rst_ni,
      .start_i(start[c]), .keep_counters_i(keep_counters), .stop_i(stop[c]),
      .start_pc_i(start_pc[c]), .start_arg_i(start_arg[c]),
      .core_id_i(core_id[c]), .num_cores_i(num_cores[c]), .cap_i(cap),
      .running_o(running[c]), .fault_o(fault[c]), .fault_cause_o(fault_cause[c]), .fault_pc_o(fault_pc[c]),
      .fault_value_o(fault_value[c]),
      .snapshot_i(snapshot[c]), .counter_read_i(counter_read), .counter_index_i(counter_index), .counter_o(counter[c]),
      .bar_o(bar[c]), .bar_id_o(bar_id[c]), .bar_count_o(bar_count[c]), .bar_warps_o(bar_warps[c]),
      .bar_release_i(bar_release[c]), .bar_stuck_i(bar_stuck[c]),
      .lock_o(lock[c]), .lock_quarter_o(lock_quarter[c]), .lock_line_o(lock_line[c]), .lock_grant_i(lock_grant[c]),
      .ird_valid_o(rd_valid[2*c]), .ird_ready_i(rd_ready[2*c]), .ird_line_o(rd_line[2*c]), .ird_beat_i(rd_beat[2*c]),
      .drd_valid_o(rd_valid[2*c+1]), .drd_ready_i(rd_ready[2*c+1]), .drd_line_o(rd_line[2*c+1]),
      .drd_beat_i(rd_beat[2*c+1]),
      .rd_data_i(rd_data), .rd_last_i(rd_last), .rd_error_i(rd_error),
      .wr_valid_o(wr_valid[c]), .wr_ready_i(wr_ready[c]), .wr_line_o(wr_line[c]), .wr_beats_o(wr_beats[c]),
      .wr_beat_i(wr_beat), .wr_data_o(wr_data[c]), .wr_strb_o(wr_strb[c]), .wr_done_i(wr_done[c]), .wr_error_i(wr_error)
    );
  end

  gpu_line_locks #(.Cores(Cores)) u_locks (
    .clk_i, .rst_ni, .base_i(base), .want_i(lock), .quarter_i(lock_quarter), .line_i(lock_line), .grant_o(lock_grant)
  );

  gpu_memory #(.Cores(Cores)) u_memory (
    .clk_i, .rst_ni, .context_i(ctx), .base_i(base),
    .rd_valid_i(rd_valid), .rd_ready_o(rd_ready), .rd_line_i(rd_line), .rd_beat_o(rd_beat), .rd_data_o(rd_data),
    .rd_last_o(rd_last), .rd_error_o(rd_error),
    .wr_valid_i(wr_valid), .wr_ready_o(wr_ready), .wr_line_i(wr_line), .wr_beats_i(wr_beats), .wr_beat_o(wr_beat),
    .wr_data_i(wr_data), .wr_strb_i(wr_strb),
    .wr_done_o(wr_done), .wr_error_o(wr_error),
    .axi_o(lines), .axi_i(lines_answer)
  );

  // ---- Second-level cache

  if (L2Bytes > 0) begin : gen_l2
    localparam int unsigned LineWidth = AddrWidth - LineOffset;
    logic [2**ContextWidth-1:0] forget;
    logic flush, flush_busy, hit_event, miss_event;
    logic [LineWidth-1:0] flush_first, flush_last;

    // A core that begins a kernel finds nothing of what was there before.
    always_comb begin
      forget = '0;
      for (int c = 0; c < int'(Cores); c++) if (start[c]) forget[ctx[c]] = 1'b1;
    end

    gpu_l2 #(
      .Bytes(L2Bytes), .Readers(2 * Cores), .Lines(DataReads * Cores), .Each(DataReads)
    ) u_l2 (
      .clk_i, .rst_ni, .req_i(lines), .rsp_o(lines_answer), .req_o(axi), .rsp_i(axi_answer), .forget_i(forget),
      .flush_i(flush), .flush_first_i(flush_first), .flush_last_i(flush_last), .flush_busy_o(flush_busy),
      .hit_event_o(hit_event), .miss_event_o(miss_event)
    );

    gpu_l2_bank u_l2_bank (
      .clk_i, .rst_ni, .write_i(l2_write), .waddr_i(l2_waddr), .wdata_i(l2_wdata), .wmask_i(l2_wmask),
      .read_i(l2_read), .raddr_i(l2_raddr), .rdata_o(l2_rdata), .flush_o(flush), .flush_first_o(flush_first),
      .flush_last_o(flush_last), .flush_busy_i(flush_busy), .hit_event_i(hit_event), .miss_event_i(miss_event)
    );
  end else begin : gen_no_l2
    assign axi = lines;
    assign lines_answer = axi_answer;
    assign l2_rdata = '0;

    logic unused_l2;
    assign unused_l2 = ^{l2_write, l2_waddr, l2_wdata, l2_wmask, l2_read, l2_raddr};
  end

  gpu_cluster_barriers #(.Cores(Cores)) u_barriers (
    .clk_i, .rst_ni, .context_i(ctx), .num_cores_i(num_cores), .running_i(running),
    .bar_i(bar), .id_i(bar_id), .count_i(bar_count), .warps_i(bar_warps), .release_o(bar_release), .stuck_o(bar_stuck)
  );

endmodule
