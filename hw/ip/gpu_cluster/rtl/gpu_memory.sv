// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
/// The cores' line reads and writes onto one AXI4 manager.
///
/// A line is one INCR burst, eight beats for a read, the written part of the line for a write. Read ids are {core,
/// data cache}, write ids the core, so a core's writes stay in order and its lines come as asked for. GPU addresses of
/// 32 bits become physical ones by a base for each quarter of the address space, per core; AxUSER carries the core's
/// memory context.
module gpu_memory
  import eddy_pkg::*;
  import gpu_pkg::*;
#(
  parameter int unsigned Cores = 1
) (
  input  logic                     clk_i,
  /// Synchronous reset, active low.
  input  logic                     rst_ni,
  input  logic [ContextWidth-1:0]  context_i [Cores],
  /// Physical 4 KiB page at which each quarter of a core's address space begins; sums wrap at 2^40.
  input  logic [27:0]              base_i [Cores][4],
  /// Requesters 2k: instructions of core k; 2k + 1: its data.
  input  logic [2*Cores-1:0]       rd_valid_i,
  output logic [2*Cores-1:0]       rd_ready_o,
  input  logic [LineAddrWidth-1:0] rd_line_i [2*Cores],
  output logic [2*Cores-1:0]       rd_beat_o,
  output logic [63:0]              rd_data_o,
  output logic                     rd_last_o,
  output logic                     rd_error_o,
  input  logic [Cores-1:0]         wr_valid_i,
  output logic [Cores-1:0]         wr_ready_o,
  input  logic [LineAddrWidth-1:0] wr_line_i [Cores],
  /// Beats of the line that hold something.
  input  logic [LineBytes/8-1:0]   wr_beats_i [Cores],
  /// The beat that is wanted of the line taken last.
  output logic [2:0]               wr_beat_o,
  input  logic [63:0]              wr_data_i [Cores],
  input  logic [7:0]               wr_strb_i [Cores],
  output logic [Cores-1:0]         wr_done_o,
  output logic                     wr_error_o,
  output axi_req_t                 axi_o,
  input  axi_rsp_t                 axi_i
);

  localparam int unsigned Readers = 2 * Cores;
  localparam int unsigned ReaderWidth = $clog2(Readers);
  localparam int unsigned CoreWidth = (Cores > 1) ? $clog2(Cores) : 1;
  localparam int unsigned Beats = LineBytes / 8;

  typedef logic [ReaderWidth-1:0] reader_t;
  typedef logic [CoreWidth-1:0] core_t;

  function automatic logic [AddrWidth-1:0] physical(logic [27:0] base, logic [LineAddrWidth-3:0] line,
                                                    logic [2:0] beat);
    return {base, 12'd0} + {10'd0, line, beat, 3'd0};
  endfunction

  // What memory says, field by field: a simulation puts no wide word together to take it apart.
  logic ar_ready, aw_ready, w_ready, r_valid, b_valid;

  assign ar_ready = axi_i.ar_ready;
  assign aw_ready = axi_i.aw_ready;
  assign w_ready = axi_i.w_ready;
  assign r_valid = axi_i.r_valid;
  assign b_valid = axi_i.b_valid;

  // ---- Reads

  logic ar_valid_q, read_wanted, read;
  ax_t ar_q;
  reader_t reader;
  core_t reader_core;

  gpu_turns #(.Number(Readers)) u_read_turns (
    .clk_i, .rst_ni, .want_i(rd_valid_i), .done_i(read), .valid_o(read_wanted), .index_o(reader)
  );

  assign read = read_wanted && (!ar_valid_q || ar_ready);

  always_comb begin
    rd_ready_o = '0;
    rd_ready_o[reader] = read;
  end

  assign reader_core = (Cores > 1) ? core_t'(reader >> 1) : '0;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      ar_valid_q <= 1'b0;
      ar_q <= '0;
    end else begin
      if (ar_ready) ar_valid_q <= 1'b0;
      if (read) begin
        ar_valid_q <= 1'b1;
        ar_q <= '{
          id: IdWidth'(reader),
          addr: physical(base_i[reader_core][rd_line_i[reader][LineAddrWidth-1-:2]], rd_line_i[reader][LineAddrWidth-3:0], 3'd0),
          len: 8'(Beats - 1), size: 3'd3, burst: BurstIncr, cache: 4'b0011, prot: '0, qos: '0,
          user: context_i[reader_core]
        };
      end
    end
  end

  logic [IdWidth-1:0] r_id;
  assign r_id = axi_i.r.id;

  always_comb begin
    rd_beat_o = '0;
    if (r_valid) rd_beat_o[r_id[ReaderWidth-1:0]] = 1'b1;
  end
  assign rd_data_o = axi_i.r.data;
  assign rd_last_o = axi_i.r.last;
  assign rd_error_o = axi_i.r.resp[1];

  // ---- Writes: one line at a time, address and data side by side.

  logic aw_valid_q, w_valid_q, write_wanted, write;
  ax_t aw_q;
  logic [2:0] beat_q, end_q, first, final_beat;
  core_t writer, last_writer_q;

  gpu_turns #(.Number(Cores)) u_write_turns (
    .clk_i, .rst_ni, .want_i(wr_valid_i), .done_i(write), .valid_o(write_wanted), .index_o(writer)
  );

  // One as the last beat of another goes.
  assign write = write_wanted && (!aw_valid_q || aw_ready) && (!w_valid_q || (w_ready && beat_q == end_q));
  assign wr_beat_o = beat_q;

  always_comb begin
    wr_ready_o = '0;
    wr_ready_o[writer] = write;
    first = '0;
    final_beat = '0;
    if (write_wanted) begin
      for (int b = int'(Beats) - 1; b >= 0; b--) if (wr_beats_i[writer][b]) first = 3'(b);
      for (int b = 0; b < int'(Beats); b++) if (wr_beats_i[writer][b]) final_beat = 3'(b);
    end
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      aw_valid_q <= 1'b0;
      w_valid_q <= 1'b0;
      aw_q <= '0;
      last_writer_q <= '0;
      beat_q <= '0;
      end_q <= '0;
    end else begin
      if (aw_ready) aw_valid_q <= 1'b0;
      if (w_valid_q && w_ready) begin
        beat_q <= beat_q + 3'd1;
        if (beat_q == end_q) w_valid_q <= 1'b0;
      end
      if (write) begin
        aw_valid_q <= 1'b1;
        w_valid_q <= 1'b1;
        last_writer_q <= writer;
        beat_q <= first;
        end_q <= final_beat;
        aw_q <= '{
          id: IdWidth'(writer),
          addr: physical(base_i[writer][wr_line_i[writer][LineAddrWidth-1-:2]], wr_line_i[writer][LineAddrWidth-3:0], first),
          len: 8'(final_beat - first), size: 3'd3, burst: BurstIncr, cache: 4'b0011, prot: '0, qos: '0,
          user: context_i[writer]
        };
      end
    end
  end

  logic [IdWidth-1:0] b_id;
  assign b_id = axi_i.b.id;

  always_comb begin
    wr_done_o = '0;
    if (b_valid) wr_done_o[b_id[CoreWidth-1:0]] = 1'b1;
  end
  assign wr_error_o = axi_i.b.resp[1];

  w_t w;

  always_comb begin
    w = '0;
    if (w_valid_q) w = '{data: wr_data_i[last_writer_q], strb: wr_strb_i[last_writer_q], last: beat_q == end_q};
  end

  assign axi_o = '{
    aw: aw_q, aw_valid: aw_valid_q, w: w, w_valid: w_valid_q, b_ready: 1'b1, ar: ar_q, ar_valid: ar_valid_q, r_ready: 1'b1
  };

  logic unused;
  assign unused = ^{r_id, b_id, axi_i.r.resp[0], axi_i.b.resp[0]};

endmodule
