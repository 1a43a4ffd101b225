// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
/// Registers of a cluster: Table 4.2 of [000] at 0x00, a set a core, the counter window, the identity block.
///
/// hw/regs/gpu_cluster.rdl is the map. One access at a time; every access is answered OKAY, what is not there reads zero.
/// A core's own registers cannot be written while it runs.
module gpu_bank
  import eddy_pkg::*;
  import gpu_cluster_regs_pkg::*;
#(
  parameter int unsigned Cores = 1,
  /// What CONFIG and LIMITS read.
  parameter logic [31:0] Config = '0,
  parameter logic [31:0] Limits = '0,
  parameter logic [31:0] CapReset = '0,
  parameter logic [63:0] BuildHash = '0
) (
  input  logic                    clk_i,
  /// Synchronous reset, active low.
  input  logic                    rst_ni,
  input  lite_req_t               lite_i,
  output lite_rsp_t               lite_o,
  output logic                    irq_o,

  output logic [Cores-1:0]        start_o,
  output logic [Cores-1:0]        stop_o,
  output logic                    keep_counters_o,
  output logic [31:0]             start_pc_o [Cores],
  output logic [31:0]             start_arg_o [Cores],
  output logic [ContextWidth-1:0] context_o [Cores],
  output logic [27:0]             base_o [Cores][4],
  output logic [7:0]              core_id_o [Cores],
  output logic [7:0]              num_cores_o [Cores],
  output logic [31:0]             cap_o,
  input  logic [Cores-1:0]        running_i,
  input  logic [Cores-1:0]        fault_i,
  input  logic [4:0]              fault_cause_i [Cores],
  input  logic [31:0]             fault_pc_i [Cores],
  input  logic [31:0]             fault_value_i [Cores],

  output logic [Cores-1:0]        snapshot_o,
  output logic                    counter_read_o,
  output logic [5:0]              counter_index_o,
  input  logic [63:0]             counter_i [Cores],

  /// Registers of the second-level cache: accesses to their offsets, and what they read.
  output logic                    l2_write_o,
  output logic [7:0]              l2_waddr_o,
  output logic [31:0]             l2_wdata_o,
  output logic [31:0]             l2_wmask_o,
  output logic                    l2_read_o,
  output logic [7:0]              l2_raddr_o,
  input  logic [31:0]             l2_rdata_i
);

  localparam int unsigned CoreWidth = (Cores > 1) ? $clog2(Cores) : 1;

  typedef logic [CoreWidth-1:0] core_t;

  /// Address bits within the registers of one core.
  localparam int unsigned FieldWidth = $clog2(CoreStride);

  typedef logic [FieldWidth-1:0] field_t;

  localparam logic [7:0] MapMajor = 8'd1;
  localparam logic [7:0] MapMinor = 8'd0;

  function automatic logic is_l2(logic [15:0] addr);
    return addr >= L2BaseLoOffset && addr <= L2CountHiOffset;
  endfunction

  /// Whether an address is among the registers of a core that there is.
  function automatic logic is_core(logic [15:0] addr);
    return addr >= CoreStartOffset && addr < CoreStartOffset + 16'(CoreStride * Cores);
  endfunction

  /// Whose of the cores' registers an address is.
  function automatic core_t core_of(logic [15:0] addr);
    return core_t'((addr - CoreStartOffset) >> FieldWidth);
  endfunction

  /// The place of a register of core 0 within the registers of any core.
  function automatic field_t field_of(logic [15:0] offset);
    return field_t'(offset - CoreStartOffset);
  endfunction

  // ---- Requests: address and data of a write are held as they come; reads and writes take turns by themselves.

  logic aw_held_q, w_held_q, write, read, r_valid_q, b_valid_q;
  logic [15:0] waddr_q, raddr;
  logic [31:0] wdata_q, wmask, rdata, rdata_q;
  logic [3:0] wstrb_q;

  // What is asked, field by field: a simulation puts no wide word together to take it apart.
  logic aw_valid, w_valid, b_ready, ar_valid, r_ready;

  assign aw_valid = lite_i.aw_valid;
  assign w_valid = lite_i.w_valid;
  assign b_ready = lite_i.b_ready;
  assign ar_valid = lite_i.ar_valid;
  assign r_ready = lite_i.r_ready;

  lite_ax_t aw, ar;
  lite_w_t w;

  assign aw = lite_i.aw;
  assign ar = lite_i.ar;
  assign w = lite_i.w;

  assign write = aw_held_q && w_held_q && !b_valid_q;
  assign read = ar_valid && !r_valid_q;
  assign raddr = {ar.addr[15:2], 2'b00};

  always_comb begin
    wmask = 'x;
    if (write) wmask = {{8{wstrb_q[3]}}, {8{wstrb_q[2]}}, {8{wstrb_q[1]}}, {8{wstrb_q[0]}}};
  end

  assign lite_o = '{
    aw_ready: !aw_held_q, w_ready: !w_held_q, b_resp: '0, b_valid: b_valid_q, ar_ready: !r_valid_q, r: '{data: rdata_q, resp: '0},
    r_valid: r_valid_q
  };

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      aw_held_q <= 1'b0;
      w_held_q <= 1'b0;
      b_valid_q <= 1'b0;
      r_valid_q <= 1'b0;
      waddr_q <= '0;
      wdata_q <= '0;
      wstrb_q <= '0;
      rdata_q <= '0;
    end else
`ifndef SYNTHESIS
    // Else no access is here: a simulation passes over it. In gates it would only be a condition more.
    if (aw_valid || w_valid || ar_valid || aw_held_q || w_held_q || b_valid_q || r_valid_q)
`endif
    begin
      if (aw_valid && !aw_held_q) begin
        aw_held_q <= 1'b1;
        waddr_q <= {aw.addr[15:2], 2'b00};
      end
      if (w_valid && !w_held_q) begin
        w_held_q <= 1'b1;
        wdata_q <= w.data;
        wstrb_q <= w.strb;
      end
      if (b_valid_q && b_ready) b_valid_q <= 1'b0;
      if (write) begin
        aw_held_q <= 1'b0;
        w_held_q <= 1'b0;
        b_valid_q <= 1'b1;
      end
      if (r_valid_q && r_ready) r_valid_q <= 1'b0;
      if (read) begin
        r_valid_q <= 1'b1;
        rdata_q <= rdata;
      end
    end
  end

  assign l2_write_o = write && is_l2(waddr_q);
  assign l2_waddr_o = waddr_q[7:0];
  assign l2_wdata_o = wdata_q;
  assign l2_wmask_o = wmask;
  assign l2_read_o = read && is_l2(raddr);
  assign l2_raddr_o = raddr[7:0];

  // ---- Storage

  logic [Cores-1:0] cores_q, done_q, irq_cores_q, running_q;
  logic irq_idle_q, pending_q, keep_q;
  logic [Cores-1:0] start_q, stop_q, snapshot_q;
  logic [31:0] cap_q, start_reg_q, arg_reg_q;
  core_t counter_core_q;
  logic [Cores-1:0] ended, done_clear;
  logic cluster_idles;

  assign ended = running_q & ~running_i;
  assign done_clear = (write && waddr_q == DoneOffset) ? Cores'(wdata_q & wmask) : '0;
  assign cluster_idles = running_q != '0 && running_i == '0;

`ifndef SYNTHESIS
  // No access, no event, and none in the cycle before: a simulation passes over it. In gates it would only be a condition more.
  logic rests;
  assign rests = !write && running_q == running_i && (start_q | stop_q | snapshot_q) == '0 && irq_o == pending_q;
`endif

  core_t wcore, rcore;
  field_t wfield, rfield;

  assign wcore = core_of(waddr_q);
  assign wfield = field_of(waddr_q);
  assign rcore = core_of(raddr);
  assign rfield = field_of(raddr);

  function automatic logic [31:0] merged(logic [31:0] old);
    return (old & ~wmask) | (wdata_q & wmask);
  endfunction

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      cores_q <= '1;
      done_q <= '0;
      irq_cores_q <= '0;
      irq_idle_q <= 1'b1;
      pending_q <= 1'b0;
      keep_q <= 1'b0;
      start_q <= '0;
      stop_q <= '0;
      snapshot_q <= '0;
      cap_q <= CapReset;
      start_reg_q <= '0;
      arg_reg_q <= '0;
      counter_core_q <= '0;
      running_q <= '0;
      irq_o <= 1'b0;
      for (int c = 0; c < int'(Cores); c++) begin
        start_pc_o[c] <= '0;
        start_arg_o[c] <= '0;
        context_o[c] <= '0;
        core_id_o[c] <= 8'(c);
        num_cores_o[c] <= 8'(Cores);
        for (int s = 0; s < 4; s++) base_o[c][s] <= 28'(s) << 18;
      end
    end else
`ifndef SYNTHESIS
    if (!rests)
`endif
    begin
      automatic logic event_pends;
      event_pends = (ended & irq_cores_q) != '0 || (cluster_idles && irq_idle_q);
      running_q <= running_i;
      start_q <= '0;
      stop_q <= '0;
      snapshot_q <= '0;
      irq_o <= pending_q;
      if (write) begin
        unique case (waddr_q)
          EnableResetOffset: begin
            if (wdata_q[0] && wstrb_q[0]) start_q <= cores_q;
            if (wdata_q[1] && wstrb_q[0]) stop_q <= '1;
            keep_q <= 1'b0;
          end
          InterruptStatusOffset: if (!wdata_q[0] && wstrb_q[0]) pending_q <= 1'b0;
          StartOffset: begin
            for (int c = 0; c < int'(Cores); c++) begin
              if (cores_q[c] && !running_i[c]) start_pc_o[c] <= merged(start_reg_q);
            end
            start_reg_q <= merged(start_reg_q);
          end
          ArgumentOffset: begin
            for (int c = 0; c < int'(Cores); c++) begin
              if (cores_q[c] && !running_i[c]) start_arg_o[c] <= merged(arg_reg_q);
            end
            arg_reg_q <= merged(arg_reg_q);
          end
          CoresOffset: cores_q <= Cores'(merged(32'(cores_q)));
          CapOffset: cap_q <= merged(cap_q);
          LaunchOffset: begin
            start_q <= Cores'(wdata_q & wmask);
            keep_q <= wdata_q[31] && wstrb_q[3];
          end
          HaltOffset: stop_q <= Cores'(wdata_q & wmask);
          InterruptEnableOffset: begin
            irq_cores_q <= Cores'(merged(32'(irq_cores_q)));
            if (wstrb_q[3]) irq_idle_q <= wdata_q[31];
          end
          SnapshotOffset: begin
            if (wstrb_q[0] && wdata_q[7:0] < 8'(Cores)) begin
              counter_core_q <= core_t'(wdata_q[7:0]);
              snapshot_q[core_t'(wdata_q[7:0])] <= 1'b1;
            end
          end
          default: ;
        endcase
        if (is_core(waddr_q) && !running_i[wcore]) begin
          unique case (wfield)
            field_of(CoreStartOffset): start_pc_o[wcore] <= merged(start_pc_o[wcore]);
            field_of(CoreArgumentOffset): start_arg_o[wcore] <= merged(start_arg_o[wcore]);
            field_of(CoreContextOffset): if (wstrb_q[0]) context_o[wcore] <= wdata_q[ContextWidth-1:0];
            field_of(CorePlaceOffset):
              {num_cores_o[wcore], core_id_o[wcore]} <= 16'(merged(32'({num_cores_o[wcore], core_id_o[wcore]})));
            field_of(CoreBase0Offset), field_of(CoreBase1Offset), field_of(CoreBase2Offset), field_of(CoreBase3Offset):
              base_o[wcore][wfield[3:2]] <= 28'(merged(32'(base_o[wcore][wfield[3:2]])));
            default: ;
          endcase
        end
      end
      // Where an event and an access meet, the event wins, of each core for itself.
      done_q <= (done_q & ~done_clear & ~start_q) | ended;
      if (event_pends) pending_q <= 1'b1;
    end
  end

  assign start_o = start_q;
  assign stop_o = stop_q;
  assign snapshot_o = snapshot_q;
  assign keep_counters_o = keep_q;
  assign cap_o = cap_q;

  // ---- Reads

  logic [63:0] counter;

  assign counter_read_o = read;
  assign counter_index_o = {1'b0, raddr[7:3]};
  assign counter = counter_i[counter_core_q];

  always_comb begin
    rdata = '0;
    if (read) begin
      unique case (raddr)
        EnableResetOffset: rdata = {31'd0, running_i != '0};
        InterruptStatusOffset: rdata = {31'd0, pending_q};
        StatusOffset: rdata = 32'(running_i | start_q);
        StartOffset: rdata = start_reg_q;
        ArgumentOffset: rdata = arg_reg_q;
        CoresOffset: rdata = 32'(cores_q);
        CapOffset: rdata = cap_q;
        ConfigOffset: rdata = Config;
        LimitsOffset: rdata = Limits;
        DoneOffset: rdata = 32'(done_q);
        InterruptEnableOffset: rdata = {irq_idle_q, 31'(irq_cores_q)};
        SnapshotOffset: rdata = 32'(counter_core_q);
        identity_regs_pkg::MagicOffset: rdata = IdentityMagic;
        identity_regs_pkg::KindOffset: rdata = {16'd2, MapMajor, MapMinor};
        identity_regs_pkg::BuildLoOffset: rdata = BuildHash[31:0];
        identity_regs_pkg::BuildHiOffset: rdata = BuildHash[63:32];
        default: begin
          if (is_l2(raddr)) begin
            rdata = l2_rdata_i;
          end else if (raddr[15:8] == CounterLoOffset[15:8]) begin
            rdata = raddr[2] ? counter[63:32] : counter[31:0];
          end else if (is_core(raddr)) begin
            unique case (rfield)
              field_of(CoreStartOffset): rdata = start_pc_o[rcore];
              field_of(CoreArgumentOffset): rdata = start_arg_o[rcore];
              field_of(CoreContextOffset): rdata = 32'(context_o[rcore]);
              field_of(CorePlaceOffset): rdata = {16'd0, num_cores_o[rcore], core_id_o[rcore]};
              field_of(CoreBase0Offset), field_of(CoreBase1Offset), field_of(CoreBase2Offset), field_of(CoreBase3Offset):
                rdata = {4'd0, base_o[rcore][rfield[3:2]]};
              field_of(CoreCauseOffset): rdata = {fault_i[rcore], 26'd0, fault_cause_i[rcore]};
              field_of(CoreFaultPcOffset): rdata = fault_pc_i[rcore];
              field_of(CoreFaultValueOffset): rdata = fault_value_i[rcore];
              default: ;
            endcase
          end
        end
      endcase
    end
  end

`ifndef SYNTHESIS
  NothingMissedAtRest_A : assert property (@(posedge clk_i) disable iff (!rst_ni)
    rests |-> !write && done_clear == '0 && ended == '0 && !cluster_idles);
`endif

  logic unused;
  assign unused = ^{aw.prot, ar.prot, aw.addr[1:0], ar.addr[1:0]};

endmodule
