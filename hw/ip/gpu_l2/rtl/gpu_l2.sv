// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
/// Second-level cache of a cluster, between its cores' line traffic and the slot's port.
///
/// Two ways of lines of 64 bytes, physical addresses. A line belongs to the memory context that read it and answers that
/// context alone. Reads keep what they bring; stores go through to memory and drop the line, whoever's it is, so what
/// memory refuses is never seen and nothing here is dirty. Several misses are on their way at once. Hits pass those of
/// other readers; one whose reader waits for an older line is parked until that has been answered, so that a reader's
/// lines come in the order in which it asked.
///
/// Contract with `req_i`: reads are whole aligned lines of eight beats, `Each` a reader (id) at most at a time; writes
/// stay within a line; read data and write answers are always taken. Read data from memory may be made to wait, for as
/// long as it takes to answer what is parked.
module gpu_l2
  import eddy_pkg::*;
  import gpu_pkg::*;
#(
  /// Size in bytes, a power of two, at least four lines.
  parameter int unsigned Bytes = 65536,
  /// Ids that read: 0 to Readers - 1.
  parameter int unsigned Readers = 2,
  /// Lines that readers may wait for, on their way or parked, all together and each; a power of two, at least two.
  parameter int unsigned Lines = 8,
  parameter int unsigned Each = 4,
  /// Writes that may be on their way.
  parameter int unsigned Writes = 8,
  localparam int unsigned LineWidth = AddrWidth - LineOffset
) (
  input  logic                       clk_i,
  /// Synchronous reset, active low.
  input  logic                       rst_ni,
  input  axi_req_t                   req_i,
  output axi_rsp_t                   rsp_o,
  output axi_req_t                   req_o,
  input  axi_rsp_t                   rsp_i,
  /// Contexts whose lines are to be dropped; their reads wait until that is done.
  input  logic [2**ContextWidth-1:0] forget_i,
  /// Drop these lines (address / 64), last included.
  input  logic                       flush_i,
  input  logic [LineWidth-1:0]       flush_first_i,
  input  logic [LineWidth-1:0]       flush_last_i,
  /// Until the lines are gone and every write accepted before has been answered.
  output logic                       flush_busy_o,
  /// A line read was found here, or was not; one cycle.
  output logic                       hit_event_o,
  output logic                       miss_event_o
);

  localparam int unsigned Sets = Bytes / LineBytes / 2;
  localparam int unsigned SetWidth = $clog2(Sets);
  localparam int unsigned TagWidth = LineWidth - SetWidth;
  localparam int unsigned ReaderWidth = (Readers > 1) ? $clog2(Readers) : 1;

  if (Bytes < 4 * LineBytes || (Bytes & (Bytes - 1)) != 0) begin : gen_check_bytes
    $fatal(1, "gpu_l2: Bytes must be a power of two and hold at least four lines of 64 bytes");
  end

  typedef logic [LineWidth-1:0] line_t;
  typedef logic [SetWidth-1:0] set_t;
  typedef logic [ReaderWidth-1:0] reader_t;
  typedef struct packed {
    logic                    valid;
    logic [ContextWidth-1:0] owner;
    logic [TagWidth-1:0]     tag;
  } entry_t;
  typedef enum logic [1:0] { Read, Write, Walk } kind_e;
  typedef enum logic [1:0] { Ready, Tags, Stream } state_e;

  entry_t tag0_ram [Sets];
  entry_t tag1_ram [Sets];
  logic [DataWidth-1:0] data_ram [2 * Sets * (LineBytes / 8)];

  state_e state_q;
  kind_e kind_q, kind;
  ax_t ax_q;
  set_t set_q, set;
  entry_t entry0_q, entry1_q;
  logic way_q, turn_q, walked_q;
  logic [2:0] beat_q;

  // ---- What comes next: a line that has come, one that was parked, a walk's set in turn with others, a write or a read
  // in turn.

  logic ready, open, install, play, walk_begin, walk_wanted, walk_active, walk_step, marked;
  logic read_waits, read_conflict, write_conflict, writes_full, write_open_q;
  logic can_read, can_write, can_walk, take_read, take_write, take_walk;
  logic aw_valid_q, ar_valid_q;
  ax_t aw_q, ar_q;
  set_t walk_set;
  logic [2**ContextWidth-1:0] blocked;
  logic install_valid, install_good, install_way, play_valid, play_way, full;
  reader_t play_id;
  set_t play_set;
  line_t install_line, ar_line, line;
  logic [ContextWidth-1:0] install_context;

  assign ar_line = req_i.ar.addr[AddrWidth-1:LineOffset];
  assign ready = state_q == Ready;
  assign install = ready && install_valid;
  assign play = ready && !install_valid && play_valid;
  assign open = ready && !install_valid && !play_valid;
  assign read_waits = blocked[req_i.ar.user] || read_conflict || write_conflict || full || ar_valid_q;
  assign can_read = open && req_i.ar_valid && !read_waits;
  assign can_write = open && req_i.aw_valid && !aw_valid_q && !write_open_q && !writes_full;
  assign can_walk = open && walk_active;
  assign walk_begin = open && walk_wanted;
  assign take_walk = can_walk && !(walked_q && (can_read || can_write));
  assign take_write = can_write && !take_walk && !(turn_q && can_read);
  assign take_read = can_read && !take_walk && !take_write;

  always_comb begin
    kind = Walk;
    set = walk_set;
    if (take_read) begin
      kind = Read;
      set = ar_line[SetWidth-1:0];
    end
    if (take_write) begin
      kind = Write;
      set = req_i.aw.addr[LineOffset+:SetWidth];
    end
  end

  // ---- What the tags say

  logic hit0, hit1, same0, same1, read_hit, read_miss, behind, park;
  logic [1:0] drop, taken;
  logic keep, way, replace_q;
  line_t kept_line [2];
  logic [ContextWidth-1:0] kept_context [2];

  assign line = ax_q.addr[AddrWidth-1:LineOffset];
  assign same0 = entry0_q.valid && entry0_q.tag == line[LineWidth-1:SetWidth];
  assign same1 = entry1_q.valid && entry1_q.tag == line[LineWidth-1:SetWidth];
  assign hit0 = same0 && entry0_q.owner == ax_q.user;
  assign hit1 = same1 && entry1_q.owner == ax_q.user;
  assign read_hit = state_q == Tags && kind_q == Read && (hit0 || hit1);
  assign read_miss = state_q == Tags && kind_q == Read && !hit0 && !hit1;
  assign park = read_hit && behind;
  assign walk_step = state_q == Tags && kind_q == Walk;
  assign kept_line = '{{entry0_q.tag, set_q}, {entry1_q.tag, set_q}};
  assign kept_context = '{entry0_q.owner, entry1_q.owner};
  assign hit_event_o = read_hit;
  assign miss_event_o = read_miss;

  // A way for a new line: one that waits for no other, an empty one first.
  always_comb begin
    keep = taken != 2'b11;
    way = replace_q;
    if (!entry0_q.valid) way = 1'b0;
    else if (!entry1_q.valid) way = 1'b1;
    if (taken[way]) way = !way;
  end

  logic write0, write1;
  entry_t entry;
  set_t entry_set;

  always_comb begin
    write0 = 1'b0;
    write1 = 1'b0;
    entry = '0;
    entry_set = set_q;
    if (install) begin
      entry = '{valid: install_good, owner: install_context, tag: install_line[LineWidth-1:SetWidth]};
      entry_set = install_line[SetWidth-1:0];
      write0 = install_good && !install_way;
      write1 = install_good && install_way;
    end else if (state_q == Tags) begin
      unique case (kind_q)
        Read: begin
          write0 = read_miss && keep && !way;
          write1 = read_miss && keep && way;
        end
        Write: begin
          write0 = same0;
          write1 = same1;
        end
        default: begin
          write0 = drop[0];
          write1 = drop[1];
        end
      endcase
    end
  end

  always_ff @(posedge clk_i) begin
    if (write0) tag0_ram[entry_set] <= entry;
    if (write1) tag1_ram[entry_set] <= entry;
    if (take_read || take_write || take_walk) begin
      entry0_q <= tag0_ram[set];
      entry1_q <= tag1_ram[set];
    end
  end

  // ---- Lines on their way in, writes on their way out, what has to go

  logic beat, beat_wait, beat_keep, beat_way, word_valid_q;
  logic [IdWidth-1:0] word_id_q;
  set_t beat_set;
  logic [2:0] beat_number;

  // Not between the words of an older line of its reader.
  assign beat = rsp_i.r_valid && !beat_wait && !(state_q == Stream && rsp_i.r.id == ax_q.id) &&
                !(word_valid_q && rsp_i.r.id == word_id_q);

  gpu_l2_fills #(.Readers(Readers), .Lines(Lines), .Each(Each), .LineWidth(LineWidth), .SetWidth(SetWidth)) u_fills (
    .clk_i, .rst_ni, .full_o(full),
    .start_id_i(reader_t'(ax_q.id)), .start_behind_o(behind), .start_i(read_miss), .park_i(park),
    .start_line_i(line), .start_context_i(ax_q.user), .start_keep_i(park || keep), .start_way_i(park ? hit1 : way),
    .beat_id_i(reader_t'(rsp_i.r.id)), .beat_wait_o(beat_wait),
    .beat_i(beat), .beat_last_i(rsp_i.r.last), .beat_error_i(rsp_i.r.resp[1]),
    .beat_keep_o(beat_keep), .beat_way_o(beat_way), .beat_set_o(beat_set), .beat_number_o(beat_number),
    .play_valid_o(play_valid), .play_id_o(play_id), .play_way_o(play_way), .play_set_o(play_set), .play_i(play),
    .install_valid_o(install_valid), .install_good_o(install_good), .install_way_o(install_way),
    .install_line_o(install_line), .install_context_o(install_context), .install_i(install),
    .spoil_i(state_q == Tags && kind_q == Write), .spoil_line_i(line), .spoil_all_i(walk_begin),
    .probe_i(req_i.ar_valid), .probe_line_i(ar_line), .conflict_o(read_conflict),
    .set_i(set_q), .taken_o(taken)
  );

  gpu_l2_writes #(.LineWidth(LineWidth), .Slots(Writes)) u_writes (
    .clk_i, .rst_ni,
    .push_i(take_write), .push_id_i(req_i.aw.id), .push_line_i(req_i.aw.addr[AddrWidth-1:LineOffset]),
    .full_o(writes_full), .pop_i(rsp_i.b_valid), .pop_id_i(rsp_i.b.id),
    .mark_i(flush_i && !flush_busy_o), .marked_o(marked),
    .probe_i(req_i.ar_valid), .probe_line_i(ar_line), .conflict_o(write_conflict)
  );

  gpu_l2_walk #(.LineWidth(LineWidth), .SetWidth(SetWidth)) u_walk (
    .clk_i, .rst_ni, .forget_i, .flush_i, .flush_first_i, .flush_last_i, .flush_busy_o, .writes_wait_i(marked),
    .wanted_o(walk_wanted), .active_o(walk_active), .begin_i(walk_begin), .step_i(walk_step), .set_o(walk_set),
    .blocked_o(blocked), .line_i(kept_line), .context_i(kept_context), .drop_o(drop)
  );

  always_ff @(posedge clk_i) begin
    if (beat && beat_keep) data_ram[{beat_way, beat_set, beat_number}] <= rsp_i.r.data;
  end

  // ---- A line that is here, beat by beat; what comes from memory for other readers goes first.

  logic [DataWidth-1:0] word_q;
  logic word_last_q, fetch;

  assign fetch = state_q == Stream && (!word_valid_q || !beat);

  always_ff @(posedge clk_i) begin
    if (fetch) word_q <= data_ram[{way_q, set_q, beat_q}];
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      word_valid_q <= 1'b0;
    end else if (fetch) begin
      word_valid_q <= 1'b1;
      word_last_q <= beat_q == 3'd7;
      word_id_q <= ax_q.id;
    end else if (!beat) begin
      word_valid_q <= 1'b0;
    end
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      state_q <= Ready;
      turn_q <= 1'b0;
      walked_q <= 1'b0;
      replace_q <= 1'b0;
      ar_valid_q <= 1'b0;
      aw_valid_q <= 1'b0;
      write_open_q <= 1'b0;
    end else begin
      if (rsp_i.ar_ready) ar_valid_q <= 1'b0;
      if (rsp_i.aw_ready) aw_valid_q <= 1'b0;
      if (req_o.w_valid && rsp_i.w_ready && req_i.w.last) write_open_q <= 1'b0;
      unique case (state_q)
        Ready: begin
          if (play) begin
            state_q <= Stream;
            set_q <= play_set;
            way_q <= play_way;
            beat_q <= '0;
            ax_q.id <= IdWidth'(play_id);
          end
          if (take_read || take_write || take_walk) begin
            state_q <= Tags;
            kind_q <= kind;
            set_q <= set;
            ax_q <= take_write ? req_i.aw : req_i.ar;
            walked_q <= take_walk;
            if (!take_walk) turn_q <= take_write;
          end
        end
        Tags: begin
          state_q <= Ready;
          beat_q <= '0;
          way_q <= hit1;
          if (read_hit) begin
            if (!behind) state_q <= Stream;
            replace_q <= hit0;
          end
          if (read_miss) begin
            ar_valid_q <= 1'b1;
            ar_q <= ax_q;
            replace_q <= !way;
          end
          if (kind_q == Write) begin
            aw_valid_q <= 1'b1;
            aw_q <= ax_q;
            write_open_q <= 1'b1;
          end
        end
        default: begin
          if (fetch) begin
            beat_q <= beat_q + 3'd1;
            if (beat_q == 3'd7) state_q <= Ready;
          end
        end
      endcase
    end
  end

  always_comb begin
    req_o = req_i;
    req_o.ar = ar_q;
    req_o.ar_valid = ar_valid_q;
    req_o.aw = aw_q;
    req_o.aw_valid = aw_valid_q;
    // Data does not go before its address.
    req_o.w_valid = req_i.w_valid && write_open_q;
    rsp_o = rsp_i;
    rsp_o.ar_ready = take_read;
    rsp_o.aw_ready = take_write;
    rsp_o.w_ready = rsp_i.w_ready && write_open_q;
    rsp_o.r_valid = beat;
    req_o.r_ready = beat;
    if (!beat && word_valid_q) begin
      rsp_o.r_valid = 1'b1;
      rsp_o.r = '{id: word_id_q, data: word_q, resp: RespOkay, last: word_last_q};
    end
  end

`ifndef SYNTHESIS
  StaysWhileAnswered_A : assert property (@(posedge clk_i) disable iff (!rst_ni)
    state_q == Stream && beat && beat_keep |-> {beat_way, beat_set} != {way_q, set_q});
  WholeLines_A : assert property (@(posedge clk_i) disable iff (!rst_ni)
    req_i.ar_valid |-> req_i.ar.len == 8'd7 && req_i.ar.addr[LineOffset-1:0] == '0);
  AlwaysTaken_A : assert property (@(posedge clk_i) disable iff (!rst_ni) req_i.r_ready && req_i.b_ready);
`endif

endmodule
