// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
`include "clock_when.svh"

/// Memory accesses of a core: coalesces the lanes of a warp, first-level data cache, local memory.
///
/// Two ways, write-through, no allocation on stores. All lanes whose words lie in one line and in different banks
/// (`gpu_lines_pkg::bank_of`), or are the same, are served in one cycle. Stores are taken and forgotten (no answer); loads and fences
/// answer with their tag, loads in parts and in any order.
///
/// A load that misses is parked until its line has come; others go on meanwhile, and what misses in a line that is on its
/// way waits for that. The first load from a line asks for the next one too, within its page of 4 KiB: what may be
/// read is decided by the page. Memory is never asked for a line before every store to it has landed, and a store to a line
/// waits while that is on its way, or is to be asked for. A fence waits for all stores to land and for all lines on their way, and then drops
/// every line, so that it sees other cores' stores.
///
/// An atomic access waits until no load is parked, and is alone until it has ended (gpu_dcache_amo): it holds the lock of
/// its line among the cores of its memory context, and is answered whole, when memory has what it made.
///
/// Requests come through gpu_dcache_port, which keeps one more; answers leave through gpu_dcache_answer.
module gpu_dcache
  import gpu_pkg::*;
#(
  parameter int unsigned Threads = 4,
  parameter int unsigned TagWidth = 12,
  /// Size in bytes, a power of two, at least two lines.
  parameter int unsigned Bytes = 8192,
  /// Local memory in bytes, a power of two, at least one line.
  parameter int unsigned LocalBytes = 16384,
  /// First address of local memory, aligned to its size.
  parameter logic [31:0] LocalBase = 32'hffff_0000,
  /// Lines that may be on their way at once, 1 to 8.
  parameter int unsigned Reads = 8,
  localparam int unsigned LocalLines = LocalBytes / LineBytes,
  localparam int unsigned LocalWidth = (LocalLines > 1) ? $clog2(LocalLines) : 1
) (
  input  logic                     clk_i,
  /// Synchronous reset, active low.
  input  logic                     rst_ni,
  /// Forget every line and zero local memory, one line a cycle: hold while `clear_line_i` counts. Idle only.
  input  logic                     clear_i,
  input  logic [LocalWidth-1:0]    clear_line_i,
  input  logic                     req_valid_i,
  output logic                     req_ready_o,
  input  logic                     req_store_i,
  input  logic                     req_fence_i,
  /// An atomic access: funct5, its ordering bits, and what `amocas` compares with.
  input  logic                     req_amo_i,
  input  logic [4:0]               req_amo_op_i,
  input  logic                     req_acquire_i,
  input  logic                     req_release_i,
  input  logic [31:0]              req_compare_i [Threads],
  /// funct3: size in bits 1:0, zero extension in bit 2.
  input  logic [2:0]               req_size_i,
  input  logic [Threads-1:0]       req_mask_i,
  input  logic [TagWidth-1:0]      req_tag_i,
  input  logic [31:0]              req_addr_i [Threads],
  input  logic [31:0]              req_data_i [Threads],
  /// Something that was refused may be taken in the next cycle.
  output logic                     wake_o,
  output logic                     rsp_valid_o,
  input  logic                     rsp_ready_i,
  /// The last part of the answer.
  output logic                     rsp_last_o,
  output logic [Threads-1:0]       rsp_mask_o,
  output logic [TagWidth-1:0]      rsp_tag_o,
  output logic [31:0]              rsp_data_o [Threads],
  /// Send gathered stores out, and ask for no line ahead.
  input  logic                     drain_i,
  /// No access under way, no store unanswered, no line on its way.
  output logic                     idle_o,
  output logic                     error_o,
  output logic                     error_store_o,
  output logic [31:0]              error_addr_o,
  /// Lanes were served from a line; a line was asked for because a load missed.
  output logic                     hit_event_o,
  output logic                     miss_event_o,
  /// The lock of a line among cores: wanted until it is let go, for a cycle at least.
  output logic                     lock_o,
  output logic [1:0]               lock_quarter_o,
  output logic [5:0]               lock_line_o,
  input  logic                     lock_grant_i,
  output logic                     rd_valid_o,
  input  logic                     rd_ready_i,
  output logic [LineAddrWidth-1:0] rd_line_o,
  input  logic                     rd_beat_i,
  input  logic [63:0]              rd_data_i,
  input  logic                     rd_last_i,
  input  logic                     rd_error_i,
  output logic                     wr_valid_o,
  input  logic                     wr_ready_i,
  output logic [LineAddrWidth-1:0] wr_line_o,
  output logic [LineBytes/8-1:0]   wr_beats_o,
  input  logic [2:0]               wr_beat_i,
  output logic [63:0]              wr_data_o,
  output logic [7:0]               wr_strb_o,
  input  logic                     wr_done_i,
  input  logic                     wr_error_i
);

  localparam int unsigned Sets = Bytes / LineBytes / 2;
  localparam int unsigned SetWidth = (Sets > 1) ? $clog2(Sets) : 1;
  localparam int unsigned AddrTag = LineAddrWidth - $clog2(Sets);
  localparam int unsigned Fills = 8;
  localparam int unsigned Places = 16;
  localparam int unsigned FillWidth = $clog2(Fills);
  localparam int unsigned LaneWidth = (Threads > 1) ? $clog2(Threads) : 1;
  // A word a lane and more: lanes next to each other, or with equal steps between them, mostly meet in none.
  localparam int unsigned Banks = (Threads > 8) ? 16 : (Threads > 1) ? 1 << $clog2(Threads) : 2;
  localparam int unsigned BankWidth = $clog2(Banks);
  localparam int unsigned Parts = LineBytes / 4 / Banks;
  localparam int unsigned PartWidth = (Parts > 1) ? $clog2(Parts) : 1;

  if (Bytes < 2 * LineBytes || (Bytes & (Bytes - 1)) != 0) begin : gen_check_bytes
    $fatal(1, "gpu_dcache: Bytes must be a power of two and hold at least two lines of 64 bytes");
  end
  if (LocalBytes < LineBytes || (LocalBytes & (LocalBytes - 1)) != 0) begin : gen_check_local
    $fatal(1, "gpu_dcache: LocalBytes must be a power of two and hold at least one line of 64 bytes");
  end
  if (LocalBase % LocalBytes != 0) begin : gen_check_base
    $fatal(1, "gpu_dcache: LocalBase must be aligned to LocalBytes");
  end
  if (Reads < 1 || Reads > Fills) begin : gen_check_reads
    $fatal(1, "gpu_dcache: Reads must be 1 to 8");
  end

  typedef logic [LineAddrWidth-1:0] line_t;
  // Of each bank the part of a line it looks at.
  typedef logic [Banks-1:0][PartWidth-1:0] parts_t;
  typedef struct packed {
    line_t  line;
    parts_t parts;
  } place_t;
  typedef struct packed {
    logic [2:0]               size;
    logic [TagWidth-1:0]      tag;
    place_t                   place;
    logic [Threads-1:0]       left;
    logic [Threads-1:0][31:0] addr;
  } load_t;

  logic [AddrTag-1:0] tag0_ram [Sets];
  logic [AddrTag-1:0] tag1_ram [Sets];
  // Of the lines: which there are (while another comes to its way, that is not yet here), which nobody has loaded from
  // yet; and where both ways are in use, which goes next.
  logic [Sets-1:0] valid0_q, valid1_q;
  logic fresh0_ram [Sets];
  logic fresh1_ram [Sets];
  logic victim_ram [Sets];

  // The access under way, and what it looks at in this cycle (the address register of the memories).
  logic valid_q, store_q;
  logic [2:0] size_q;
  logic [TagWidth-1:0] tag_q;
  place_t place_q;
  logic [Threads-1:0] left_q;
  logic [Threads-1:0][31:0] addr_q;
  // Of each lane the bank its word lies in.
  logic [Threads-1:0][BankWidth-1:0] bank_q;
  logic [Threads-1:0][31:0] data_q;
  // A fence waits beside it.
  logic fence_q;
  logic [TagWidth-1:0] fence_tag_q;
  // What was written in the cycle before, which the row that is read does not show: the last beat of a line, a store.
  logic whole_q;
  logic [Banks-1:0] wrote_banks_q;
  logic [5:0] wrote_set_q;
  parts_t wrote_parts_q;
  // Stored lines are to leave.
  logic flush_q;
  // A line to ask for before it is wanted; whether it is what is looked at.
  logic ahead_q, looks_q;
  logic [1:0] touched_q;
  line_t ahead_line_q;

  function automatic logic [SetWidth-1:0] set_of(line_t number);
    return (Sets > 1) ? number[SetWidth-1:0] : '0;
  endfunction

  function automatic logic is_local(line_t number);
    return ({number, {LineOffset{1'b0}}} & ~32'(LocalBytes - 1)) == LocalBase;
  endfunction

  line_t line;
  logic [SetWidth-1:0] set;
  logic local_hit, hit0, hit1, hit, fresh;
  logic rsp_free, store_free, stale, serve, serve_load, serve_store, finish, park, take, come_back, end_fence, look;
  logic miss, ask, ask_ahead, way, ahead_done, touch, next_valid, next_take;
  line_t next_line;
  logic [Threads-1:0] group, rest, in_line;
  place_t next_place, first_place, place_d;
  logic [LaneWidth-1:0] next_lane;
  logic [Banks-1:0][31:0] words, store_data;
  logic [Banks-1:0][3:0] store_strb;
  logic sb_ready, sb_empty, sb_waits, sb_conflict, sb_held, sb_error;
  // For atomic accesses: what the cycle before said of the line that is still looked at. No other store comes meanwhile.
  logic known_q, conflict_q;
  logic [31:0] sb_error_addr;
  load_t parked;
  logic parked_ready, parked_full, parked_any;
  logic coming, room, spare, fills_any, whole, kept, good, fill_error, fill_way;
  logic [1:0] taken;
  // What is offered at the port.
  logic asks, asks_store, asks_fence, asks_amo, amo_acquire, amo_release;
  logic [2:0] asks_size;
  logic [Threads-1:0] asks_mask;
  logic [TagWidth-1:0] asks_tag;
  logic [Threads-1:0][31:0] asks_addr, asks_data;
  logic [4:0] amo_op;
  logic [31:0] amo_compare [Threads];
  logic amo, amo_drop, amo_ask, amo_flush, amo_read, amo_update, amo_store, amo_push, amo_served, amo_next_row;
  logic amo_finish, amo_finish_drop, take_amo, rest_here, ready;
  logic [Threads-1:0] amo_read_lane, amo_lane, store_lanes;
  logic [31:0] amo_word, amo_value, amo_old;
  logic [FillWidth-1:0] coming_fill, next_fill;
  logic [Fills-1:0] held, busy_next;
  logic [2:0] fill_beat;
  line_t fill_line;

  // Whether anything may change. In gates every flop has the clock itself; a simulation goes without what looks at it only to keep
  // what it has.
  logic awake;

  assign awake = !rst_ni || clear_i || drain_i || req_valid_i || !req_ready_o || rsp_valid_o || valid_q || fence_q || parked_any ||
                 held != '0 || fills_any || !sb_empty || ahead_q || next_valid || looks_q || touched_q != '0 || whole_q || wrote_banks_q != '0 || flush_q;

  // ---- One look at the tags a cycle: the access's, or where there is none that of the line to be asked for ahead.

  assign line = place_q.line;
  assign look = valid_q || looks_q;
  assign set = set_of(line);
  assign local_hit = is_local(line);

  always_comb begin
    hit0 = 1'b0;
    hit1 = 1'b0;
    fresh = 1'b0;
    if (look) begin
      hit0 = valid0_q[set] && gpu_lines_pkg::same(30'(tag0_ram[set]), 30'(line[LineAddrWidth-1-:AddrTag]));
      hit1 = valid1_q[set] && gpu_lines_pkg::same(30'(tag1_ram[set]), 30'(line[LineAddrWidth-1-:AddrTag]));
      fresh = hit0 ? fresh0_ram[set] : hit1 && fresh1_ram[set];
    end
  end

  function automatic logic [BankWidth-1:0] bank_of(logic [3:0] word);
    return BankWidth'(gpu_lines_pkg::bank_of(word, Banks));
  endfunction

  function automatic logic [PartWidth-1:0] part_of(logic [3:0] word);
    return PartWidth'(gpu_lines_pkg::part_of(word, Banks));
  endfunction

  // Which lanes are served this cycle: those of the line whose banks look at their parts. What comes next: the line of the lowest
  // lane that is left, and of each bank the part that the lowest of those wants. Whether that is the same line.
  always_comb begin
    group = '0;
    rest = '0;
    in_line = '0;
    next_lane = '0;
    next_place = 'x;
    rest_here = 1'b0;
    if (valid_q) begin
      for (int t = 0; t < int'(Threads); t++) begin
        in_line[t] = gpu_lines_pkg::same(30'(addr_q[t][31:LineOffset]), 30'(line));
        group[t] = left_q[t] && in_line[t] && place_q.parts[bank_q[t]] == part_of(addr_q[t][5:2]);
      end
      rest = left_q & ~group;
      for (int t = int'(Threads) - 1; t >= 0; t--) if (rest[t]) next_lane = LaneWidth'(t);
      next_place.line = addr_q[next_lane][31:LineOffset];
      rest_here = rest != '0 && in_line[next_lane];
      for (int b = 0; b < int'(Banks); b++) begin
        next_place.parts[b] = '0;
        for (int t = int'(Threads) - 1; t >= 0; t--) begin
          if (rest[t] && bank_q[t] == BankWidth'(b)) next_place.parts[b] = part_of(addr_q[t][5:2]);
        end
      end
    end
  end

  // What is looked at in the next cycle: of the access under way, or of the next one, if there is one, or a line ahead.
  place_t other_place;

  always_comb begin
    other_place = parked_ready ? parked.place : asks ? first_place : '{line: ahead_line_q, parts: 'x};
    place_d = (rest != '0) ? next_place : other_place;
    if (valid_q && !serve && !amo_next_row) place_d = place_q;
  end

  gpu_dcache_port #(.Threads(Threads), .TagWidth(TagWidth), .Banks(Banks), .PartWidth(PartWidth)) u_port (
    .clk_i, .awake_i(awake), .rst_ni, .req_valid_i, .req_ready_o, .req_store_i, .req_fence_i, .req_amo_i, .req_amo_op_i, .req_acquire_i, .req_release_i,
    .req_compare_i, .req_size_i, .req_mask_i, .req_tag_i, .req_addr_i, .req_data_i,
    .valid_o(asks), .take_i(take), .store_o(asks_store), .fence_o(asks_fence), .amo_o(asks_amo), .size_o(asks_size),
    .mask_o(asks_mask), .tag_o(asks_tag), .addr_o(asks_addr), .data_o(asks_data), .line_o(first_place.line), .parts_o(first_place.parts),
    .amo_op_o(amo_op), .acquire_o(amo_acquire), .release_o(amo_release), .compare_o(amo_compare)
  );

  always_comb begin
    hit = 'x;
    stale = 'x;
    {serve_load, store_free, serve_store, serve, finish, touch, miss, park} = '0;
`ifndef SYNTHESIS
    // Asked for with an access alone; in gates it would only be a condition more.
    if (valid_q)
`endif
    begin
      hit = local_hit || ((hit0 || hit1) && !coming);
      // A line that comes has the memories' one write.
      stale = whole_q;
      for (int b = 0; b < int'(Banks); b++) begin
        if (wrote_banks_q[b] && {wrote_set_q, wrote_parts_q[b]} == {line[5:0], place_q.parts[b]}) stale = 1'b1;
      end
      serve_load = valid_q && !store_q && !amo && hit && rsp_free && !stale;
      store_free = local_hit || (sb_ready && !coming && !(rd_beat_i && (hit0 || hit1)));
      serve_store = valid_q && store_q && store_free;
      serve = serve_load || serve_store;
      finish = serve && rest == '0;
      touch = serve_load && !local_hit && fresh && touched_q == '0 && !whole;
      // A miss: the line is on its way, or asked for, or it waits for room. Only stores that have not landed hold it here.
      miss = valid_q && !store_q && !amo && !hit;
      park = miss && (coming || !sb_waits);
    end
  end

  assign amo_push = amo_store && store_free;

  always_comb begin
    {ask, ask_ahead, ahead_done} = '0;
    way = 1'b0;
`ifndef SYNTHESIS
    if (look)
`endif
    begin
      ask = (miss || (amo_ask && !hit)) && !coming && !sb_waits && room && taken != 2'b11;
      // Ahead of demand where room is left for that; given up where the line is here, on its way or being written.
      ahead_done = ahead_q && looks_q && !fence_q && !drain_i &&
                   (hit0 || hit1 || coming || sb_waits || (room && spare && taken != 2'b11));
      ask_ahead = ahead_done && !hit0 && !hit1 && !coming && !sb_waits;
    end
    if (look) begin
      way = valid0_q[set] && (!valid1_q[set] || victim_ram[set]);
      if (taken[way]) way = !way;
    end
  end

  assign next_take = next_valid && (!ahead_q || ahead_done);
  assign come_back = parked_ready && (!valid_q || finish);
  // An atomic access that has to wait for parked loads keeps others out meanwhile.
  assign ready = (!valid_q || finish) && !fence_q && (asks_amo ? !parked_any : !parked_ready && !parked_full);
  assign take = asks && ready;
  assign take_amo = take && asks_amo;
  assign wake_o = req_ready_o || ready;
  assign end_fence = fence_q && !valid_q && !parked_any && !fills_any && sb_empty && rsp_free;

  assign hit_event_o = serve_load;
  assign miss_event_o = ask;
  assign idle_o = !valid_q && req_ready_o && !rsp_valid_o && !fence_q && !parked_any && !fills_any && !ahead_q && !next_valid && touched_q == '0 && sb_empty;
  assign error_o = sb_error || fill_error;
  // What an atomic access may not read it may not store.
  assign error_store_o = sb_error || (fill_error && amo);
  assign error_addr_o = sb_error ? sb_error_addr : {fill_line, {LineOffset{1'b0}}};

  gpu_dcache_merge #(.Threads(Threads), .Banks(Banks)) u_merge (
    .valid_i(valid_q && (store_q || amo_store)), .size_i(size_q[1:0]), .lanes_i(store_lanes), .addr_i(addr_q),
    .data_i(data_q), .data_o(store_data), .strb_o(store_strb)
  );

  gpu_dcache_answer #(.Threads(Threads), .TagWidth(TagWidth), .Banks(Banks)) u_answer (
    .clk_i, .awake_i(awake), .rst_ni, .free_o(rsp_free),
    .load_i(serve_load), .finish_i(rest == '0), .lanes_i(group), .size_i(size_q), .addr_i(addr_q), .words_i(words),
    .park_i(park), .amo_i(amo_served), .amo_lane_i(amo_lane), .amo_data_i(amo_old), .amo_finish_i(amo_finish),
    .tag_i(tag_q), .fence_i(end_fence), .fence_tag_i(fence_tag_q),
    .rsp_valid_o, .rsp_ready_i, .rsp_last_o, .rsp_mask_o, .rsp_tag_o, .rsp_data_o
  );

  gpu_store_buffer #(.Banks(Banks)) u_stores (
    .clk_i, .awake_i(awake), .rst_ni, .clear_i,
    .ready_o(sb_ready), .push_i((serve_store || amo_push) && !local_hit), .parts_i(place_q.parts), .data_i(store_data),
    .strb_i(store_strb), .flush_i(flush_q),
    .empty_o(sb_empty), .probe_i(look), .probe_line_i(line), .waits_o(sb_waits), .conflict_o(sb_conflict),
    .hold_i(ask || ask_ahead), .held_o(sb_held),
    .wr_valid_o, .wr_ready_i, .wr_line_o, .wr_beats_o, .wr_beat_i, .wr_data_o, .wr_strb_o, .wr_done_i, .wr_error_i,
    .error_o(sb_error), .error_addr_o(sb_error_addr)
  );

  // ---- Atomic accesses

  assign store_lanes = amo ? amo_lane : group;
  assign lock_quarter_o = line[LineAddrWidth-1-:2];
  assign lock_line_o = line[5:0];

  always_comb begin
    amo_word = 'x;
    if (amo_read) begin
      automatic logic [BankWidth-1:0] bank;
      bank = '0;
      for (int t = 0; t < int'(Threads); t++) if (amo_read_lane[t]) bank |= bank_q[t];
      amo_word = words[bank];
    end
  end

  gpu_dcache_amo #(.Threads(Threads)) u_amo (
    .clk_i, .awake_i(awake), .rst_ni, .take_i(take_amo), .op_i(amo_op), .acquire_i(amo_acquire),
    .release_i(amo_release), .compare_i(amo_compare), .active_o(amo),
    .local_i(local_hit), .hit_i(hit), .conflict_i(!known_q || conflict_q), .coming_i(coming), .stores_empty_i(sb_empty),
    .fills_any_i(fills_any), .fill_error_i(fill_error), .drop_ready_i(!whole), .drop_o(amo_drop), .ask_o(amo_ask), .flush_o(amo_flush),
    .lock_o, .lock_grant_i,
    .group_i(group), .rest_i(rest != '0), .rest_here_i(rest_here), .data_i(data_q), .read_o(amo_read),
    .read_lane_o(amo_read_lane), .word_i(amo_word), .rsp_free_i(rsp_free && !stale), .lane_o(amo_lane), .update_o(amo_update),
    .value_o(amo_value), .store_o(amo_store), .store_ready_i(store_free), .served_o(amo_served), .old_o(amo_old),
    .next_row_o(amo_next_row), .finish_o(amo_finish), .finish_drop_o(amo_finish_drop)
  );

  gpu_dcache_fills #(.Fills(Fills), .Reads(Reads), .SetWidth(SetWidth)) u_fills (
    .clk_i, .awake_i(awake), .rst_ni,
    .look_i(look), .look_line_i(line), .look_set_i(set), .match_o(coming), .match_fill_o(coming_fill),
    .taken_o(taken), .room_o(room), .spare_o(spare), .next_o(next_fill),
    .begin_i(ask || ask_ahead), .begin_way_i(way), .begin_wanted_i(ask), .want_i(miss && coming),
    .held_i(held), .busy_next_o(busy_next), .any_o(fills_any),
    .hold_ask_i(sb_held), .rd_valid_o, .rd_ready_i, .rd_line_o, .rd_beat_i, .rd_last_i, .rd_error_i,
    .line_o(fill_line), .way_o(fill_way), .beat_o(fill_beat), .whole_o(whole),
    .kept_o(kept), .good_o(good), .error_o(fill_error)
  );

  gpu_dcache_streams u_streams (
    .clk_i, .awake_i(awake), .rst_ni, .clear_i, .touch_i(touch), .line_i(line), .next_valid_o(next_valid), .next_take_i(next_take),
    .next_line_o(next_line)
  );

  load_t access;

  always_comb begin
    access = 'x;
`ifndef SYNTHESIS
    if (park)
`endif
    access = '{size: size_q, tag: tag_q, place: place_q, left: left_q, addr: addr_q};
  end

  gpu_dcache_parked #(.Places(Places), .Width($bits(load_t)), .Fills(Fills)) u_parked (
    .clk_i, .awake_i(awake), .rst_ni,
    .park_i(park), .wait_i(coming || ask), .fill_i(coming ? coming_fill : next_fill), .load_i(access),
    .busy_next_i(busy_next), .room_i(room), .ready_o(parked_ready), .take_i(come_back), .load_o(parked),
    .full_o(parked_full), .any_o(parked_any), .held_o(held)
  );

  gpu_dcache_rows #(.Banks(Banks), .Sets(Sets), .LocalLines(LocalLines)) u_rows (
    .clk_i, .awake_i(awake), .next_read_i(valid_q || asks || parked_ready), .next_line_i(place_d.line), .next_parts_i(place_d.parts),
    .line_i(line), .parts_i(place_q.parts), .read_i(serve_load || amo_read), .local_i(local_hit), .way_i(hit1), .words_o(words),
    .store_i((serve_store || amo_push) && hit), .store_data_i(store_data), .store_strb_i(store_strb),
    .fill_i(rd_beat_i), .fill_way_i(fill_way), .fill_line_i(fill_line), .fill_beat_i(fill_beat), .fill_data_i(rd_data_i),
    .clear_i, .clear_line_i
  );

  logic mark0, mark1, mark_fresh, victim_write;
  logic [SetWidth-1:0] mark_set;

  // No line is asked for ahead on account of one that was refused.
  assign mark_set = whole ? set_of(fill_line) : set;
  assign mark0 = whole ? !fill_way : touch && hit0;
  assign mark1 = whole ? fill_way : touch && hit1;
  assign mark_fresh = whole && good;
  assign victim_write = ask || ask_ahead || (serve_load && !local_hit);

  always_ff @(`EDDY_RISES(clk_i, awake)) begin
    if (ask || ask_ahead) begin
      if (way) tag1_ram[set] <= line[LineAddrWidth-1-:AddrTag];
      else tag0_ram[set] <= line[LineAddrWidth-1-:AddrTag];
    end
    if (mark0) fresh0_ram[mark_set] <= mark_fresh;
    if (mark1) fresh1_ram[mark_set] <= mark_fresh;
    if (victim_write) victim_ram[set] <= serve_load ? hit0 : !way;
  end

  always_ff @(`EDDY_RISES(clk_i, awake)) begin
    place_q <= place_d;
    conflict_q <= sb_conflict;
    whole_q <= whole;
    for (int b = 0; b < int'(Banks); b++) wrote_banks_q[b] <= (serve_store || amo_push) && store_strb[b] != '0;
    wrote_set_q <= line[5:0];
    wrote_parts_q <= place_q.parts;
    flush_q <= drain_i || fence_q || amo_flush || (miss && sb_waits);
  end

  always_ff @(`EDDY_RISES(clk_i, awake)) begin
    if (!rst_ni) begin
      valid_q <= 1'b0;
      known_q <= 1'b0;
      fence_q <= 1'b0;
      ahead_q <= 1'b0;
      looks_q <= 1'b0;
      touched_q <= '0;
      valid0_q <= '0;
      valid1_q <= '0;
    end else begin
      if (serve) begin
        left_q <= rest;
        if (finish) valid_q <= 1'b0;
      end
      if (park || amo_finish) valid_q <= 1'b0;
      if (amo_update) begin
        for (int t = 0; t < int'(Threads); t++) if (amo_lane[t]) data_q[t] <= amo_value;
      end
      if (amo_served) left_q <= left_q & ~amo_lane;
      touched_q <= {touched_q[0], touch};
      known_q <= amo && !amo_next_row && !amo_push && !amo_finish;
      looks_q <= ahead_q && !ahead_done && (!valid_q || finish) && !parked_ready && !asks;
      if (ahead_done) ahead_q <= 1'b0;
      if (next_take) begin
        ahead_q <= 1'b1;
        ahead_line_q <= next_line;
      end
      if (drain_i) ahead_q <= 1'b0;

      // The one write of a cycle: a line that has come, or the copy of one that an atomic access changes.
      if (whole || amo_drop) begin
        if (whole ? !fill_way : hit0) valid0_q[mark_set] <= whole && kept;
        if (whole ? fill_way : hit1) valid1_q[mark_set] <= whole && kept;
      end

      // Nothing is taken while a parked load is ready.
      if (come_back || (take && !asks_fence)) begin
        valid_q <= 1'b1;
        store_q <= !parked_ready && asks_store;
        size_q <= parked_ready ? parked.size : asks_size;
        left_q <= parked_ready ? parked.left : asks_mask;
        tag_q <= parked_ready ? parked.tag : asks_tag;
        addr_q <= parked_ready ? parked.addr : asks_addr;
        for (int t = 0; t < int'(Threads); t++) bank_q[t] <= bank_of(parked_ready ? parked.addr[t][5:2] : asks_addr[t][5:2]);
        data_q <= asks_data;
      end
      if (take && asks_fence) begin
        fence_q <= 1'b1;
        fence_tag_q <= asks_tag;
      end
      if (end_fence) fence_q <= 1'b0;
      if (clear_i || end_fence || amo_finish_drop) begin
        valid0_q <= '0;
        valid1_q <= '0;
        ahead_q <= 1'b0;
      end
    end
  end

`ifndef SYNTHESIS
  AwakeToAllThatComes_A : assert property (@(posedge clk_i) disable iff (!rst_ni)
    !awake |-> !(take || come_back || end_fence || serve || park || touch || ahead_done || next_valid || amo || rd_beat_i || wr_done_i));
  ClearedAtRest_A : assert property (@(posedge clk_i) disable iff (!rst_ni) clear_i |-> idle_o);
  NotAheadOfStores_A : assert property (@(posedge clk_i) disable iff (!rst_ni) ask || ask_ahead |-> !sb_waits);
  NoStoreToALineOnItsWay_A : assert property (@(posedge clk_i) disable iff (!rst_ni) serve_store && !local_hit |-> !coming);
  OneComesNext_A : assert property (@(posedge clk_i) disable iff (!rst_ni) !(come_back && take));
  AloneToTheEnd_A : assert property (@(posedge clk_i) disable iff (!rst_ni) amo |-> valid_q && !parked_any);
  OneWay_A : assert property (@(posedge clk_i) disable iff (!rst_ni) !(hit0 && hit1));
  ForgottenAtRest_A : assert property (@(posedge clk_i) disable iff (!rst_ni) clear_i || end_fence || amo_finish_drop |-> !fills_any);
`endif

endmodule
