/// The configuration engine: takes an image from memory to the fabric's configuration port, and watches both.
///
/// One load at a time. It reads within a window of pages that software sets, no faster than a regulator allows, expands the
/// image where it is compressed, and writes exactly as many words as it was told. A load ends well when memory, the form of
/// the source, the device and the CRC over all words say so; it ends with a cause otherwise, or when software aborts it, and
/// the port is then closed by an abort sequence if it was open. Every wait is bounded. `busy` falls a few cycles later.
///
/// All of it runs on one clock, ICAPE3's CLK.
module icap_engine
  import eddy_pkg::*;
  import icap_engine_regs_pkg::*;
(
  input  logic        clk_i,
  /// Synchronous reset, active low.
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

  /// ICAPE3.
  output logic        csib_o,
  output logic        rdwrb_o,
  output logic [31:0] i_o,
  input  logic [31:0] o_i,
  input  logic        avail_i,
  input  logic        prdone_i,
  input  logic        prerror_i
);

  typedef enum logic [1:0] {Idle, Run, End} state_e;

  state_e state_q;
  cause_e cause_q, cause;
  logic [31:0] crc_q;
  logic [23:0] waited_q;
  logic ends, start, stop, ended_set;

  logic start_asked, abort, compressed, rehearse, ended, irq_ended, regulate;
  logic [31:0] place, crc_wanted;
  logic [23:0] source_words, image_words, timeout, rate, left;
  logic [27:0] first_page, last_page;
  logic [19:0] burst;
  logic [3:0] said;

  logic [31:0] source, word;
  logic source_valid, source_ready, dry, outside, memory_error, memory_idle;
  logic word_valid, word_ready, malformed, rest, waits, writes, settles, good, lost, device_error, wrote, late;
  // What the regulator tells of a slot for its monitor; nobody counts here.
  logic admit, admit_write, read_stall, write_stall, token_stall, token_stall_write;
  logic [AddrWidth-1:0] admit_addr;
  logic [ContextWidth-1:0] admit_context;
  logic [11:0] admit_bytes;
  axi_req_t req, regulated;
  axi_rsp_t rsp, memory;

  function automatic logic [31:0] crc_next(input logic [31:0] crc, input logic [31:0] data);
    crc_next = crc ^ data;
    for (int k = 0; k < 32; k++) crc_next = {1'b0, crc_next[31:1]} ^ (crc_next[0] ? 32'hEDB8_8320 : 32'd0);
  endfunction

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
    .status_avail_i(avail_i),
    .status_prdone_i(prdone_i),
    .status_prerror_i(prerror_i),
    .status_cause_i(cause_q),
    .status_said_i(said),
    .irq_ended_o(irq_ended),
    .source_place_o(place),
    .source_words_words_o(source_words),
    .image_words_words_o(image_words),
    .crc_crc_o(crc_wanted),
    .crc_found_crc_i(~crc_q),
    .left_words_i(left),
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
    .stop_i(stop),
    .first_page_i(first_page),
    .last_page_i(last_page),
    .ar_o(req.ar),
    .ar_valid_o(req.ar_valid),
    .ar_ready_i(rsp.ar_ready),
    .r_i(rsp.r),
    .r_valid_i(rsp.r_valid),
    .word_o(source),
    .word_valid_o(source_valid),
    .word_ready_i(source_ready),
    .dry_o(dry),
    .outside_o(outside),
    .error_o(memory_error),
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

  icap_expander u_expander (
    .clk_i,
    .rst_ni,
    .start_i(start),
    .compressed_i(compressed),
    .words_i(image_words),
    .source_i(source),
    .source_valid_i(source_valid),
    .source_ready_o(source_ready),
    .source_dry_i(dry),
    .word_o(word),
    .word_valid_o(word_valid),
    .word_ready_i(word_ready),
    .malformed_o(malformed)
  );

  icap_port u_port (
    .clk_i,
    .rst_ni,
    .start_i(start),
    .rehearse_i(rehearse),
    .words_i(image_words),
    .stop_i(stop),
    .word_i(word),
    .word_valid_i(word_valid),
    .word_ready_o(word_ready),
    .csib_o,
    .rdwrb_o,
    .i_o,
    .o_i,
    .avail_i,
    .prdone_i,
    .prerror_i,
    .rest_o(rest),
    .waits_o(waits),
    .writes_o(writes),
    .settles_o(settles),
    .good_o(good),
    .lost_o(lost),
    .error_o(device_error),
    .left_o(left),
    .wrote_o(wrote),
    .said_o(said)
  );

  assign late = waited_q == '0;
  assign start = state_q == Idle && start_asked && source_words != '0 && image_words != '0 && memory_idle && rest;
  assign stop = state_q == Run && ends;
  assign ended_set = (state_q == End && rest) || (state_q == Idle && start_asked && !start);

  // Why a load that runs ends in this cycle. What was found first in the way from memory to the device counts.
  always_comb begin
    ends = 1'b1;
    cause = CauseNone;
    if (abort) cause = CauseAborted;
    else if (memory_error) cause = CauseMemoryError;
    else if (outside) cause = CauseOutsideWindow;
    else if (malformed) cause = CauseMalformed;
    else if (lost) cause = CausePortLost;
    else if (device_error) cause = CausePortError;
    else if (good && dry) cause = ~crc_q == crc_wanted ? CauseNone : CauseWrongCrc;
    else if (late && waits) cause = CausePortTimeout;
    else if (late && settles) cause = CauseNotDone;
    else if (late) cause = CauseMemoryTimeout;
    else ends = 1'b0;
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      state_q <= Idle;
      cause_q <= CauseNone;
    end else begin
      unique case (state_q)
        Idle: begin
          if (start) begin
            state_q <= Run;
            cause_q <= CauseNone;
          end else if (start_asked) cause_q <= CauseBadRequest;
        end
        Run: if (ends) begin
          state_q <= End;
          cause_q <= cause;
        end
        End: if (rest) state_q <= Idle;
        default: state_q <= Idle;
      endcase
    end
  end

  // Down to 0 since the last word, or since the port's state changed. At rest nothing counts.
  logic waits_q, writes_q;
  always_ff @(posedge clk_i) begin
    waits_q <= waits;
    writes_q <= writes;
    if (start || wrote || waits != waits_q || writes != writes_q) waited_q <= timeout;
    else if (!late && state_q == Run) waited_q <= waited_q - 24'd1;
    if (start) crc_q <= '1;
    else if (wrote) crc_q <= crc_next(crc_q, word);
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
      NothingIsWrittenAtRest_A :
      assert (state_q != Idle || (csib_o && (rdwrb_o || !rest)))
      else $error("icap_engine: the port is open and no load is under way");
    end
  end
`endif

endmodule
