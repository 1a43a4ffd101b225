// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
/// The configuration engine: loads an image from memory into the fabric's configuration port, and monitors both.
///
/// One load at a time. It reads within a window of pages that software sets, no faster than a regulator allows, expands the
/// image where it is compressed, and writes exactly as many words as it was told. A load ends well when memory, the form of
/// the source, the device and the CRC over all words say so; it ends with a cause otherwise, or when software aborts it, and
/// the port is then closed by an abort sequence if it was open. Every wait is bounded. `busy` falls some cycles later, when
/// nothing of the load is left anywhere.
///
/// Registers, reader and regulator run on the shell's clock, what writes to the port on the port's (`icap_writer`), in any
/// ratio. Beats, orders and reports cross by FIFOs that are reset together. Where no report of a load comes for
/// `PortCycles`, the port's clock stands still: the load has ended, and none begins before the clock is back.
module icap_engine
  import eddy_pkg::*;
  import icap_engine_regs_pkg::*;
  import icap_pkg::*;
#(
  /// Cycles within which the port's side reports; a power of two. Its period must be less than a 64th of that time.
  parameter int unsigned PortCycles = 4096
) (
  /// The shell's clock.
  input  logic        clk_i,
  /// Synchronous reset, active low; of both sides.
  input  logic        rst_ni,

  input  logic        sel_i,
  input  logic        write_i,
  input  logic [15:0] addr_i,
  input  logic [31:0] wdata_i,
  input  logic [ 3:0] wstrb_i,
  output logic        ack_o,
  output logic        err_o,
  output logic [31:0] rdata_o,
  output logic        irq_o,
  /// A load is under way.
  output logic        busy_o,

  /// Memory: reads only.
  output ax_t         ar_o,
  output logic        ar_valid_o,
  input  logic        ar_ready_i,
  input  r_t          r_i,
  input  logic        r_valid_i,

  /// ICAPE3's CLK, and its pins.
  input  logic        port_clk_i,
  output logic        csib_o,
  output logic        rdwrb_o,
  output logic [31:0] i_o,
  input  logic [31:0] o_i,
  input  logic        avail_i,
  input  logic        prdone_i,
  input  logic        prerror_i,
  /// Its lines, on the shell's clock.
  output logic        avail_o,
  output logic        prdone_o,
  output logic        prerror_o
);

  localparam int unsigned WatchBits = $clog2(PortCycles);

  typedef enum logic [2:0] {
    Idle,
    /// The load is ordered.
    Order,
    Run,
    /// It has ended; the port's side is informed that no beat follows.
    Stop,
    /// The port's side discards what it holds of the load.
    Leave
  } state_e;

  state_e state_q;
  cause_e cause_q;
  logic [WatchBits-1:0] watch_q;
  logic [31:0] crc_q;
  logic [23:0] left_q;
  logic [3:0] said_q;
  logic abort_q, open_q, start, told, stands, path_rst_n, far_rst_n, ended_set;

  logic start_asked, abort, compressed, rehearse, ended, irq_ended, regulate;
  logic [31:0] place, crc_wanted;
  logic [23:0] source_words, image_words, timeout, rate;
  logic [27:0] first_page, last_page;
  logic [19:0] burst;
  logic memory_idle, stop_q;

  // Signals that cross between the clocks, on this side and on the port's.
  order_t order, far_order;
  beat_t beat, read, far_beat;
  report_t report, far_report;
  logic order_valid, order_ready, far_order_valid, far_order_ready;
  logic beat_valid, beat_ready, read_valid, far_beat_valid, far_beat_ready;
  logic report_valid, far_report_valid, far_report_ready;
  icape_in_t icape;
  icape_lines_t far_lines;

  // Outputs of the regulator for a slot's monitor; not used here.
  logic admit, admit_write, read_stall, write_stall, token_stall, token_stall_write;
  logic [AddrWidth-1:0] admit_addr;
  logic [ContextWidth-1:0] admit_context;
  logic [BurstBytesWidth-1:0] admit_bytes;
  axi_req_t req, regulated;
  axi_rsp_t rsp, memory;

  icap_engine_regs u_regs (
    .clk_i,
    .rst_ni,
    .sel_i,
    .write_i,
    .addr_i,
    .wdata_i,
    .wstrb_i,
    .ack_o,
    .err_o,
    .rdata_o,
    .control_start_o(start_asked),
    .control_abort_o(abort),
    .mode_compressed_o(compressed),
    .mode_rehearse_o(rehearse),
    .status_busy_i(busy_o),
    .status_ended_set_i(ended_set),
    .status_ended_o(ended),
    .status_memory_idle_i(memory_idle),
    .status_avail_i(avail_o),
    .status_prdone_i(prdone_o),
    .status_prerror_i(prerror_o),
    .status_cause_i(cause_q),
    .status_said_i(said_q),
    .irq_ended_o(irq_ended),
    .source_place_o(place),
    .source_words_words_o(source_words),
    .image_words_words_o(image_words),
    .crc_crc_o(crc_wanted),
    .crc_found_crc_i(crc_q),
    .left_words_i(left_q),
    .window_first_page_o(first_page),
    .window_last_page_o(last_page),
    .timeout_cycles_o(timeout),
    .regulator_rate_rate_o(rate),
    .regulator_rate_enable_o(regulate),
    .regulator_burst_bytes_o(burst)
  );

  icap_reader u_reader (
    .clk_i,
    .rst_ni,
    .start_i(start),
    .place_i(place),
    .words_i(source_words),
    .stop_i(stop_q),
    .first_page_i(first_page),
    .last_page_i(last_page),
    .ar_o(req.ar),
    .ar_valid_o(req.ar_valid),
    .ar_ready_i(rsp.ar_ready),
    .r_i(rsp.r),
    .r_valid_i(rsp.r_valid),
    .beat_o(read),
    .beat_valid_o(read_valid),
    .beat_ready_i(beat_ready && state_q != Stop),
    .idle_o(memory_idle)
  );

  assign req.aw = '0;
  assign req.aw_valid = 1'b0;
  assign req.w = '0;
  assign req.w_valid = 1'b0;
  assign req.b_ready = 1'b1;
  assign req.r_ready = 1'b1;

  regulator u_regulator (
    .clk_i,
    .rst_ni,
    .enable_i(regulate),
    .rate_i(rate),
    .burst_i(burst),
    .req_i(req),
    .rsp_o(rsp),
    .req_o(regulated),
    .rsp_i(memory),
    .admit_o(admit),
    .admit_write_o(admit_write),
    .admit_addr_o(admit_addr),
    .admit_context_o(admit_context),
    .admit_bytes_o(admit_bytes),
    .read_stall_o(read_stall),
    .write_stall_o(write_stall),
    .token_stall_o(token_stall),
    .token_stall_write_o(token_stall_write)
  );

  assign ar_o = regulated.ar;
  assign ar_valid_o = regulated.ar_valid;
  assign memory.aw_ready = 1'b0;
  assign memory.w_ready = 1'b0;
  assign memory.b = '0;
  assign memory.b_valid = 1'b0;
  assign memory.ar_ready = ar_ready_i;
  assign memory.r = r_i;
  assign memory.r_valid = r_valid_i;

  // Both sides are reset together; the port's when its clock is back.
  reset_pair u_reset (
    .clk_i,
    .rst_ni,
    .clear_i(stands),
    .rst_no(path_rst_n),
    .far_clk_i(port_clk_i),
    .far_rst_no(far_rst_n)
  );

  async_fifo #(
    .Width($bits(order_t)),
    .Depth(1)
  ) u_orders (
    .src_clk_i(clk_i),
    .src_rst_ni(path_rst_n),
    .valid_i(order_valid),
    .ready_o(order_ready),
    .data_i(order),
    .dst_clk_i(port_clk_i),
    .dst_rst_ni(far_rst_n),
    .valid_o(far_order_valid),
    .ready_i(far_order_ready),
    .data_o(far_order)
  );

  async_fifo #(
    .Width($bits(beat_t)),
    .Depth(16)
  ) u_beats (
    .src_clk_i(clk_i),
    .src_rst_ni(path_rst_n),
    .valid_i(beat_valid),
    .ready_o(beat_ready),
    .data_i(beat),
    .dst_clk_i(port_clk_i),
    .dst_rst_ni(far_rst_n),
    .valid_o(far_beat_valid),
    .ready_i(far_beat_ready),
    .data_o(far_beat)
  );

  async_fifo #(
    .Width($bits(report_t)),
    .Depth(1)
  ) u_reports (
    .src_clk_i(port_clk_i),
    .src_rst_ni(far_rst_n),
    .valid_i(far_report_valid),
    .ready_o(far_report_ready),
    .data_i(far_report),
    .dst_clk_i(clk_i),
    .dst_rst_ni(path_rst_n),
    .valid_o(report_valid),
    .ready_i(1'b1),
    .data_o(report)
  );

  icape_out_t icape_answer;
  assign icape_answer.lines = '{avail: avail_i, prdone: prdone_i, prerror: prerror_i};
  assign icape_answer.o = o_i;

  icap_writer u_writer (
    .clk_i(port_clk_i),
    .rst_ni(far_rst_n),
    .order_i(far_order),
    .order_valid_i(far_order_valid),
    .order_ready_o(far_order_ready),
    .beat_i(far_beat),
    .beat_valid_i(far_beat_valid),
    .beat_ready_o(far_beat_ready),
    .report_o(far_report),
    .report_valid_o(far_report_valid),
    .report_ready_i(far_report_ready),
    .icape_o(icape),
    .icape_i(icape_answer),
    .lines_o(far_lines)
  );

  assign csib_o = icape.csib;
  assign rdwrb_o = icape.rdwrb;
  assign i_o = icape.i;

  sync_bit u_avail (
    .clk_i,
    .d_i(far_lines.avail),
    .q_o(avail_o)
  );

  sync_bit u_prdone (
    .clk_i,
    .d_i(far_lines.prdone),
    .q_o(prdone_o)
  );

  sync_bit u_prerror (
    .clk_i,
    .d_i(far_lines.prerror),
    .q_o(prerror_o)
  );

  assign start = state_q == Idle && start_asked && source_words != '0 && image_words != '0 && memory_idle && path_rst_n;
  assign told = report_valid && state_q != Idle;
  assign stands = state_q != Idle && watch_q == '1 && !report_valid;
  assign ended_set = (state_q == Leave && told && report.stage == StageRests) || stands
      || (state_q == Idle && start_asked && !start);

  assign order_valid = state_q == Order || (state_q == Run && abort_q);
  assign order = '{
    stop: state_q == Run,
    compressed: compressed,
    rehearse: rehearse,
    open: open_q,
    source_words: source_words,
    image_words: image_words,
    timeout: timeout,
    crc: crc_wanted
  };
  assign beat_valid = read_valid || state_q == Stop;
  assign beat = state_q == Stop ? '{kind: BeatEnd, data: '0} : read;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      state_q <= Idle;
      cause_q <= CauseNone;
      abort_q <= 1'b0;
      stop_q <= 1'b0;
    end else begin
      // The reader ends while the port's side is told so.
      stop_q <= (state_q == Run && told && report.stage == StageEnded) || stands;
      // Ignored if the load has ended meanwhile.
      if (state_q == Idle || (state_q == Run && order_ready)) abort_q <= 1'b0;
      if (abort && state_q inside {Order, Run}) abort_q <= 1'b1;
      unique case (state_q)
        Idle: begin
          if (start) begin
            state_q <= Order;
            cause_q <= CauseNone;
          end else if (start_asked) cause_q <= CauseBadRequest;
        end
        Order: if (order_ready) state_q <= Run;
        Run: if (told && report.stage == StageEnded) begin
          state_q <= Stop;
          cause_q <= report.cause;
        end
        Stop: if (beat_ready) state_q <= Leave;
        Leave: if (told && report.stage == StageRests) state_q <= Idle;
        default: state_q <= Idle;
      endcase
      if (stands) begin
        state_q <= Idle;
        cause_q <= CausePortStopped;
      end
    end
  end

  // The port was left open, or may have been: the end of a load was never told. Outlives a reset, as the device does.
  always_ff @(posedge clk_i) begin
    if (state_q == Order && order_ready) open_q <= 1'b1;
    else if (told && report.stage == StageEnded) open_q <= report.open;
  end

  always_ff @(posedge clk_i) begin
    watch_q <= state_q == Idle || report_valid ? '0 : watch_q + 1'b1;
    if (start) begin
      left_q <= image_words;
      crc_q <= '0;
    end else if (told) begin
      left_q <= report.left;
      crc_q <= report.crc;
      said_q <= report.said;
    end
  end

  assign irq_o = ended && irq_ended;
  assign busy_o = state_q != Idle;

  logic unused;
  assign unused = ^{regulated.aw, regulated.aw_valid, regulated.w, regulated.w_valid, regulated.b_ready, regulated.r_ready,
                    rsp.aw_ready, rsp.w_ready, rsp.b, rsp.b_valid, admit, admit_write, admit_addr, admit_context, admit_bytes,
                    read_stall, write_stall, token_stall, token_stall_write};

`ifndef SYNTHESIS
  always_ff @(posedge clk_i) begin
    if (rst_ni) begin
      NothingIsReadAtTheEnd_A :
      assert (state_q != Leave || !read_valid)
      else $error("icap_engine: a beat of a load that has ended");
    end
  end
`endif

endmodule
