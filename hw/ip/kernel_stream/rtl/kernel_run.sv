// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
/// Start and end of a run of a kernel that has streams, or a control of its own: what a slot sees is `ap_ctrl_hs`
/// (`hw/regs/kernel_run.rdl`), and a block of registers for each stream (`hw/regs/kernel_stream.rdl`).
///
/// A run ends when every stream has ended, memory has answered all of it, and the kernel, where it says such a thing, has said
/// that it is done. Where nothing moves for `StallCycles` cycles, the run ends as well: the causes are told, streams are stopped,
/// and the kernel is reset, unless accesses of its own are under way. With `ResetAtStart`, it is reset before each run, so that no
/// run follows from another. There is no auto_restart.
module kernel_run #(
  /// Streams, 0 to 16.
  parameter int unsigned NumStreams = 1,
  localparam int unsigned Streams = NumStreams == 0 ? 1 : NumStreams,
  /// Of each, whether it goes to the kernel.
  parameter logic [Streams-1:0] ToKernel = '0,
  /// The kernel says when it is done.
  parameter bit SaysDone = 1'b0,
  /// It says as well when a start has been taken; else its done says so.
  parameter bit SaysReady = 1'b0,
  parameter bit ResetAtStart = 1'b1,
  parameter int unsigned ResetCycles = 16,
  parameter int unsigned StallCycles = 65536
) (
  input  logic clk_i,
  /// Synchronous reset, active low.
  input  logic rst_ni,

  input  logic [15:0] awaddr_i,
  input  logic        awvalid_i,
  output logic        awready_o,
  input  logic [31:0] wdata_i,
  input  logic [3:0]  wstrb_i,
  input  logic        wvalid_i,
  output logic        wready_o,
  output logic        bvalid_o,
  input  logic        bready_i,
  input  logic [15:0] araddr_i,
  input  logic        arvalid_i,
  output logic        arready_o,
  output logic [31:0] rdata_o,
  output logic        rvalid_o,
  input  logic        rready_i,
  output logic        irq_o,

  /// The streams: pulse at a run's start, level where they must end, and what they say.
  output logic                     start_o,
  output logic                     stop_o,
  output logic [Streams-1:0][39:0] addr_o,
  output logic [Streams-1:0][31:0] bytes_o,
  input  logic [Streams-1:0][31:0] moved_i,
  input  logic [Streams-1:0]       busy_i,
  input  logic [Streams-1:0]       overlong_i,
  input  logic [Streams-1:0]       ragged_i,

  /// The kernel: its start, held until it is ready; its reset; its done, of which a rise counts.
  output logic kernel_start_o,
  output logic kernel_rst_no,
  /// A run is under way, from the cycle after its start was written.
  output logic running_o,
  input  logic kernel_ready_i,
  input  logic kernel_done_i,
  /// No access of the kernel, or to it, is under way.
  input  logic kernel_quiet_i,
  /// Something moved in this cycle, or waits for memory.
  input  logic moves_i,

  /// Pulses that set bits 23 to 3 of the status.
  output logic [20:0] trouble_o
);

  if (NumStreams > 16 || (NumStreams == 0 && !SaysDone)) begin : gen_check_streams
    $fatal(1, "kernel_run: NumStreams must be at most 16, and not 0 where the kernel does not say that it is done");
  end

  typedef enum logic [2:0] {Rest, Clear, Go, Run, Stop, End} step_e;
  localparam int unsigned StallWidth = $clog2(StallCycles + 1), ResetWidth = $clog2(ResetCycles + 1);

  // Accesses: one at a time, writes first; the answer to a read comes two cycles later.
  logic write, read, reading_q, start_q, done_q, ready_q, gie_q;
  logic [15:0] addr;
  logic [1:0] ier_q, isr_q;
  logic [31:0] own_q;
  logic [Streams-1:0] select, select_q;
  logic [Streams-1:0][31:0] bank_rdata;
  step_e step_q;

  assign write = awvalid_i && wvalid_i && !bvalid_o;
  assign read = arvalid_i && !rvalid_o && !reading_q && !write;
  assign awready_o = write;
  assign wready_o = write;
  assign arready_o = read;
  assign addr = write ? awaddr_i : araddr_i;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      bvalid_o <= 1'b0;
      rvalid_o <= 1'b0;
      reading_q <= 1'b0;
      rdata_o <= '0;
      own_q <= '0;
      select_q <= '0;
    end else begin
      if (write) bvalid_o <= 1'b1;
      else if (bready_i) bvalid_o <= 1'b0;
      reading_q <= read;
      select_q <= select;
      if (read) begin
        unique case ({araddr_i[15:2], 2'b00})
          kernel_run_regs_pkg::ApCtrlOffset: own_q <= {28'd0, ready_q, step_q == Rest && !start_q, done_q, start_q};
          kernel_run_regs_pkg::GieOffset: own_q <= {31'd0, gie_q};
          kernel_run_regs_pkg::IerOffset: own_q <= {30'd0, ier_q};
          kernel_run_regs_pkg::IsrOffset: own_q <= {30'd0, isr_q};
          default: own_q <= '0;
        endcase
      end
      if (reading_q) begin
        rvalid_o <= 1'b1;
        rdata_o <= own_q;
        for (int unsigned i = 0; i < Streams; i++) if (select_q[i]) rdata_o <= bank_rdata[i];
      end else if (rready_i) begin
        rvalid_o <= 1'b0;
      end
    end
  end

  for (genvar i = 0; i < int'(Streams); i++) begin : gen_streams
    logic [31:0] lo;
    logic [7:0] hi;
    logic unused_ack, unused_err;
    assign select[i] = (write || read) && addr[15:5] == 11'(i + 1) && NumStreams != 0;
    assign addr_o[i] = {hi, lo};
    kernel_stream_regs u_regs (
      .clk_i,
      .rst_ni,
      .sel_i(select[i]),
      .write_i(write),
      .addr_i({11'd0, addr[4:0]}),
      .wdata_i,
      .wstrb_i,
      .ack_o(unused_ack),
      .err_o(unused_err),
      .rdata_o(bank_rdata[i]),
      .address_lo_address_o(lo),
      .address_hi_address_o(hi),
      .bytes_bytes_o(bytes_o[i]),
      .moved_bytes_i(moved_i[i])
    );
  end

  // The run.
  logic [StallWidth-1:0] still_q;
  logic [ResetWidth-1:0] count_q;
  logic kernel_reset_q, was_done_q, said_done_q, all_ended, stalled, starting, rises;
  logic [Streams-1:0] about;

  assign starting = write && {awaddr_i[15:2], 2'b00} == kernel_run_regs_pkg::ApCtrlOffset && wdata_i[0] && wstrb_i[0];
  assign all_ended = (NumStreams == 0 || busy_i == '0) && (said_done_q || !SaysDone);
  assign stalled = step_q == Run && !all_ended && still_q == StallWidth'(StallCycles);
  assign rises = kernel_done_i && !was_done_q;
  assign start_o = step_q == Go;
  assign stop_o = step_q == Stop;
  assign running_o = step_q != Rest;
  assign kernel_rst_no = rst_ni && !kernel_reset_q;
  assign about = (stalled ? busy_i : '0) | overlong_i | ragged_i;
  assign trouble_o = NumStreams == 0 ? {16'd0, stalled, 4'd0} : {
    16'(about), stalled && SaysDone && !said_done_q, stalled && (busy_i & ~ToKernel) != '0,
    stalled && (busy_i & ToKernel) != '0, |ragged_i, |overlong_i
  };

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      step_q <= Rest;
      kernel_reset_q <= 1'b1;
      kernel_start_o <= 1'b0;
      said_done_q <= 1'b0;
      was_done_q <= 1'b0;
      count_q <= '0;
      still_q <= '0;
    end else begin
      was_done_q <= kernel_done_i;
      if (kernel_reset_q || (SaysReady ? kernel_ready_i : rises)) kernel_start_o <= 1'b0;
      if (rises) said_done_q <= 1'b1;
      still_q <= moves_i || step_q != Run ? '0 : still_q + StallWidth'(1);
      unique case (step_q)
        Rest: begin
          kernel_reset_q <= 1'b0;
          count_q <= ResetWidth'(ResetCycles);
          if (start_q) step_q <= ResetAtStart ? Clear : Go;
        end
        Clear: begin
          kernel_reset_q <= count_q != '0;
          count_q <= count_q - ResetWidth'(1);
          if (count_q == '0) step_q <= Go;
        end
        Go: begin
          kernel_start_o <= SaysDone;
          said_done_q <= 1'b0;
          step_q <= Run;
        end
        Run: begin
          count_q <= ResetWidth'(ResetCycles);
          if (all_ended) step_q <= End;
          else if (stalled) step_q <= Stop;
        end
        Stop: begin
          if (kernel_quiet_i) kernel_reset_q <= 1'b1;
          if (count_q != '0) count_q <= count_q - ResetWidth'(1);
          if (count_q == '0 && (NumStreams == 0 || busy_i == '0)) step_q <= End;
        end
        default: step_q <= Rest;
      endcase
    end
  end

  // Registers as in HLS output: where an event and an access meet, the event wins.
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      start_q <= 1'b0;
      done_q <= 1'b0;
      ready_q <= 1'b0;
      gie_q <= 1'b0;
      ier_q <= '0;
      isr_q <= '0;
      irq_o <= 1'b0;
    end else begin
      irq_o <= gie_q && (isr_q & ier_q) != '0;
      if (read && araddr_i[15:2] == kernel_run_regs_pkg::ApCtrlOffset[15:2]) begin
        done_q <= 1'b0;
        ready_q <= 1'b0;
      end
      if (starting && step_q == Rest) start_q <= 1'b1;
      if (write && wstrb_i[0]) begin
        unique case ({awaddr_i[15:2], 2'b00})
          kernel_run_regs_pkg::GieOffset: gie_q <= wdata_i[0];
          kernel_run_regs_pkg::IerOffset: ier_q <= wdata_i[1:0];
          kernel_run_regs_pkg::IsrOffset: isr_q <= isr_q ^ wdata_i[1:0];
          default: ;
        endcase
      end
      if (step_q == End) begin
        start_q <= 1'b0;
        done_q <= 1'b1;
        ready_q <= 1'b1;
        isr_q <= isr_q | ier_q;
      end
    end
  end

endmodule
