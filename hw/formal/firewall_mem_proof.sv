// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
/// Whatever the slot drives, and whenever the path closes, resets, is quiesced or cleared:
/// - no byte outside a window, and no burst AXI forbids, is asked of memory;
/// - memory sees whole bursts: exactly the beats asked for, `last` on the last, nothing withdrawn or changed;
/// - the data of every accepted write is complete within a bound, every response is taken within a bound;
/// - once the windows of a context are closed, or all revoked, and `drained_o` was seen, nothing of that context reaches
///   memory until a window of it is open again: its memory may change hands.
///
/// Assumed of the windows: a hit is one (`firewall_windows_proof`). Assumed of memory: it answers only what it was asked, and takes a write beat within `Latency` cycles. The watched
/// burst is any one burst of the solver's choice, so what is claimed of it is claimed of all.
module firewall_mem_proof
  import eddy_pkg::*;
  import firewall_pkg::*;
#(
  parameter int unsigned NumWindows = 2,
  parameter int unsigned MaxOutstanding = 4,
  parameter int unsigned TimeoutWidth = 3,
  /// Beside whole bursts and responses in time: 0 what is asked of memory; 1 nothing; 2 write data in time;
  /// 3 memory that changes hands, while the windows change as they like; and legality told in bytes, which 0 takes for
  /// granted.
  parameter int unsigned Claims = 0,
  /// Cycles memory may keep a write beat waiting.
  parameter int unsigned Latency = 2
) (
  input logic     clk_i,
  input logic     rst_ni,
  input logic     path_rst_ni,
  input logic     open_i,
  input logic     quiesce_i,
  input logic     clear_i,
  input logic     revoke_i,
  /// With claims 3, the windows of the next cycle.
  input window_t [NumWindows-1:0] windows_i,
  /// What the windows answer.
  input lookup_rsp_t read_lookup_i,
  input lookup_rsp_t write_lookup_i,
  input axi_req_t slot_req_i,
  input axi_rsp_t mem_rsp_i,
  /// Watch the burst that is offered now.
  input logic     watch_i
);

  localparam int unsigned MaxTimeout = (1 << TimeoutWidth) - 1;
  /// The longest a burst's data can take once it is its turn: its beats, each as late as memory may make it, and what
  /// the slot may hold it up.
  localparam int unsigned BeatCost = Latency + 2;
  localparam int unsigned TurnCost = 256 * BeatCost + MaxTimeout + Latency + 4;
  localparam int unsigned Bound = MaxOutstanding * TurnCost + Latency + 2;
  typedef logic [15:0] time_t;

  // Of the solver's choice, once: registers without a reset that keep what they have.
  logic [TimeoutWidth-1:0] timeout;
  window_t [NumWindows-1:0] windows;
  logic [7:0] beat;
  always_ff @(posedge clk_i) begin
    timeout <= timeout;
    windows <= Claims == 3 ? windows_i : windows;
    beat <= beat;
  end

  logic idle, drained, isolated;
  fault_t fault;
  axi_rsp_t slot_rsp;
  lookup_req_t read_lookup, write_lookup;
  axi_req_t mem;

  firewall_mem #(
    .MaxOutstanding(MaxOutstanding), .TimeoutWidth(TimeoutWidth)
  ) dut (
    .clk_i, .rst_ni, .path_rst_ni, .open_i, .quiesce_i, .clear_i, .timeout_i(timeout),
    .read_lookup_o(read_lookup), .read_lookup_i, .write_lookup_o(write_lookup), .write_lookup_i,
    .revoke_i, .idle_o(idle), .drained_o(drained), .isolated_o(isolated), .fault_o(fault), .slot_req_i, .slot_rsp_o(slot_rsp),
    .mem_req_o(mem), .mem_rsp_i
  );

  // The windows' answers, as proved of them (`firewall_windows_proof`): a hit is one.
  function automatic logic lets_through(lookup_req_t req, logic write);
    logic found;
    found = 1'b0;
    for (int unsigned i = 0; i < NumWindows; i++) begin
      if ((write ? windows[i].write : windows[i].read) && windows[i].contexts[req.context_id]
          && windows[i].base <= req.page && req.page <= windows[i].last) found = 1'b1;
    end
    return found;
  endfunction
  always_comb begin
    if (read_lookup_i.hit) ReadHitIsOne_M : assume (read_lookup.look && lets_through(read_lookup, 1'b0));
    if (write_lookup_i.hit) WriteHitIsOne_M : assume (write_lookup.look && lets_through(write_lookup, 1'b1));
  end

  logic started_q = 1'b0;
  always_ff @(posedge clk_i) started_q <= 1'b1;
  // The shell's reset comes once; what the slot's path does is free.
  always_comb InReset_M : assume (rst_ni == started_q);

  // What memory sees: requests offered, beats, answers.
  logic aw_new, ar_new, aw_done, w_done, w_last_done, b_done, r_done;
  logic aw_open_q, ar_open_q;
  logic [3:0] answers_owed_q, data_owed_q, accepted_q, complete_q, reads_owed_q;

  assign aw_new = mem.aw_valid && !aw_open_q;
  assign ar_new = mem.ar_valid && !ar_open_q;
  assign aw_done = mem.aw_valid && mem_rsp_i.aw_ready;
  assign w_done = mem.w_valid && mem_rsp_i.w_ready;
  assign w_last_done = w_done && mem.w.last;
  assign b_done = mem_rsp_i.b_valid && mem.b_ready;
  assign r_done = mem_rsp_i.r_valid && mem.r_ready && mem_rsp_i.r.last;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      aw_open_q <= 1'b0;
      ar_open_q <= 1'b0;
      answers_owed_q <= '0;
      data_owed_q <= '0;
      accepted_q <= '0;
      complete_q <= '0;
      reads_owed_q <= '0;
    end else begin
      aw_open_q <= mem.aw_valid && !mem_rsp_i.aw_ready;
      ar_open_q <= mem.ar_valid && !mem_rsp_i.ar_ready;
      // Offered and not answered; offered and without all its data; accepted, and with all data, and not answered.
      answers_owed_q <= answers_owed_q + 4'(aw_new) - 4'(b_done);
      data_owed_q <= data_owed_q + 4'(aw_new) - 4'(w_last_done);
      accepted_q <= accepted_q + 4'(aw_done) - 4'(b_done);
      complete_q <= complete_q + 4'(w_last_done) - 4'(b_done);
      reads_owed_q <= reads_owed_q + 4'(ar_new) - 4'(r_done);
    end
  end

  // Memory: answers only accepted, complete bursts; reads only what was accepted.
  always_comb begin
    if (mem_rsp_i.b_valid) AnswersWhatIsComplete_M : assume (accepted_q != '0 && complete_q != '0);
    if (mem_rsp_i.r_valid) ReadsWhatIsAsked_M : assume (reads_owed_q > 4'(ar_open_q));
  end
  always_ff @(posedge clk_i) begin
    if (started_q && $past(started_q)) begin
      if ($past(mem_rsp_i.b_valid && !mem.b_ready)) AnswerHeld_M : assume (mem_rsp_i.b_valid);
      if ($past(mem_rsp_i.r_valid && !mem.r_ready)) ReadHeld_M : assume (mem_rsp_i.r_valid && $stable(mem_rsp_i.r));
    end
  end

  // Memory takes a beat within its latency.
  logic [3:0] w_wait_q;
  always_ff @(posedge clk_i) begin
    if (!rst_ni || !mem.w_valid || mem_rsp_i.w_ready) w_wait_q <= '0;
    else w_wait_q <= w_wait_q + 4'd1;
  end
  always_comb if (w_wait_q == 4'(Latency)) TakesBeats_M : assume (mem_rsp_i.w_ready);

  // Nothing outside a window. The address of beat `beat` as AXI gives it, for any beat of the burst.
  // Ref: IHI 0022, A3.4.1.
  function automatic logic [AddrWidth-1:0] beat_address(ax_t ax, logic [7:0] n);
    logic [AddrWidth-1:0] bytes, aligned, total, boundary, plain;
    bytes = AddrWidth'(1) << ax.size;
    aligned = ax.addr & ~(bytes - 1);
    total = (AddrWidth'(ax.len) + 1) << ax.size;
    boundary = ax.addr & ~(total - 1);
    plain = n == '0 ? ax.addr : aligned + (AddrWidth'(n) << ax.size);
    if (ax.burst == BurstFixed) return ax.addr;
    if (ax.burst == BurstWrap && plain >= boundary + total) return plain - total;
    return plain;
  endfunction

  /// Every byte of beat `n` lies in a window that allows it.
  function automatic logic beat_allowed(ax_t ax, logic [7:0] n, logic write);
    logic [AddrWidth-1:0] low, high;
    logic found;
    low = beat_address(ax, n);
    high = (low & ~((AddrWidth'(1) << ax.size) - 1)) + (AddrWidth'(1) << ax.size) - 1;
    found = 1'b0;
    for (int unsigned i = 0; i < NumWindows; i++) begin
      if ((write ? windows[i].write : windows[i].read) && windows[i].contexts[ax.user]
          && {windows[i].base, 12'h000} <= low && high <= {windows[i].last, 12'hFFF}) found = 1'b1;
    end
    return found;
  endfunction

  function automatic logic burst_allowed(ax_t ax);
    logic [AddrWidth-1:0] bytes;
    bytes = AddrWidth'(1) << ax.size;
    if (ax.size > 3'(BeatBits) || ax.burst == 2'b11) return 1'b0;
    if (ax.burst == BurstFixed) return ax.len <= 8'd15;
    if (ax.burst == BurstWrap) return (ax.len inside {8'd1, 8'd3, 8'd7, 8'd15}) && (ax.addr & (bytes - 1)) == '0;
    // The last byte lies in the first byte's page.
    return (((ax.addr & ~(bytes - 1)) + ((AddrWidth'(ax.len) + 1) << ax.size) - 1) >> 12) == ax.addr >> 12;
  endfunction

  // Legality is found in beats; told in bytes, its consequences are easier to show: claims 3 prove that it is the same.
  function automatic logic legal_in_bytes(ax_t ax);
    logic [PageBits-1:0] mask;
    logic [PageBits:0] first, bytes;
    mask = (PageBits'(1) << ax.size) - PageBits'(1);
    first = {1'b0, ax.addr[PageBits-1:0] & ~mask};
    bytes = (PageBits + 1)'({1'b0, ax.len} + 9'd1) << ax.size;
    if (ax.size > 3'(BeatBits)) return 1'b0;
    unique case (ax.burst)
      BurstFixed: return ax.len < 8'd16;
      BurstIncr: return first + bytes <= (PageBits + 1)'(1) << PageBits;
      BurstWrap: return (ax.len inside {8'd1, 8'd3, 8'd7, 8'd15}) && (ax.addr[PageBits-1:0] & mask) == '0;
      default: return 1'b0;
    endcase
  endfunction
  logic read_same, write_same;
  assign read_same = dut.u_read.u_admit.allowed == (slot_req_i.ar_valid && legal_in_bytes(slot_req_i.ar));
  assign write_same = dut.u_write.u_admit.allowed == (slot_req_i.aw_valid && legal_in_bytes(slot_req_i.aw));
  always_comb begin
    if (Claims == 0) LegalityIsThatInBytes_M : assume (read_same && write_same);
  end
  always_ff @(posedge clk_i) begin
    if (Claims == 3) LegalityIsThatInBytes_A : assert (read_same && write_same);
  end

  always_ff @(posedge clk_i) begin
    if (rst_ni && Claims == 0) begin
      if (mem.aw_valid) begin
        WritesAreLegal_A : assert (burst_allowed(mem.aw));
        if (beat <= mem.aw.len) NoByteWrittenOutsideWindow_A : assert (beat_allowed(mem.aw, beat, 1'b1));
      end
      if (mem.ar_valid) begin
        ReadsAreLegal_A : assert (burst_allowed(mem.ar));
        if (beat <= mem.ar.len) NoByteReadOutsideWindow_A : assert (beat_allowed(mem.ar, beat, 1'b0));
      end
      if ($past(rst_ni)) begin
        if ($past(mem.aw_valid && !mem_rsp_i.aw_ready))
          WriteRequestHeld_A : assert (mem.aw_valid && $stable(mem.aw));
        if ($past(mem.ar_valid && !mem_rsp_i.ar_ready))
          ReadRequestHeld_A : assert (mem.ar_valid && $stable(mem.ar));
        if ($past(mem.w_valid && !mem_rsp_i.w_ready)) WriteDataHeld_A : assert (mem.w_valid && $stable(mem.w));
      end
    end
  end

  // One burst, watched from its offer to the end of its data.
  logic watching_q, watched_q;
  logic [7:0] watched_len_q, watched_beats_q;
  logic [3:0] ahead_q;
  time_t age_q;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      watching_q <= 1'b0;
      watched_q <= 1'b0;
    end else if (!watched_q) begin
      if (aw_new && watch_i) begin
        watched_q <= 1'b1;
        watching_q <= 1'b1;
        watched_len_q <= mem.aw.len;
        watched_beats_q <= '0;
        ahead_q <= data_owed_q - 4'(w_last_done);
        age_q <= '0;
      end
    end else if (watching_q) begin
      age_q <= age_q + 16'd1;
      if (ahead_q != '0) ahead_q <= ahead_q - 4'(w_last_done);
      else if (w_done) begin
        watched_beats_q <= watched_beats_q + 8'd1;
        if (watched_beats_q == watched_len_q) watching_q <= 1'b0;
      end
    end
  end

  always_ff @(posedge clk_i) begin
    if (rst_ni) begin
      DataOnlyForOfferedBursts_A : assert (!mem.w_valid || data_owed_q != '0 || aw_new);
      if (watching_q && ahead_q == '0 && mem.w_valid) begin
        LastOnTheLastBeatOnly_A : assert (mem.w.last == (watched_beats_q == watched_len_q));
      end
      if (watching_q && Claims == 2) DataCompleteInTime_A : assert (32'(age_q) <= Bound);
    end
  end

  // Responses are taken in time.
  logic [TimeoutWidth:0] b_wait_q, r_wait_q;
  always_ff @(posedge clk_i) begin
    if (!rst_ni || !mem_rsp_i.b_valid || mem.b_ready) b_wait_q <= '0;
    else b_wait_q <= b_wait_q + 1'b1;
    if (!rst_ni || !mem_rsp_i.r_valid || mem.r_ready) r_wait_q <= '0;
    else r_wait_q <= r_wait_q + 1'b1;
  end
  always_ff @(posedge clk_i) begin
    if (rst_ni) begin
      AnswerTakenInTime_A : assert (32'(b_wait_q) <= 32'(timeout) + 1);
      ReadDataTakenInTime_A : assert (32'(r_wait_q) <= 32'(timeout) + 1);
      AtMostMaxOutstanding_A :
      assert (32'(answers_owed_q) <= MaxOutstanding && 32'(reads_owed_q) <= MaxOutstanding);
      // Idle is the truth: the path may be closed.
      IdleMeansNothingOwed_A : assert (!idle || (answers_owed_q == '0 && data_owed_q == '0 && reads_owed_q == '0
                                                 && !mem.aw_valid && !mem.ar_valid && !mem.w_valid));
      IdleIsDrained_A : assert (!idle || drained);
      DrainedMeansNothingOwed_A :
      assert (!drained || (answers_owed_q == '0 && data_owed_q == '0 && reads_owed_q == '0
                           && !mem.aw_valid && !mem.ar_valid && !mem.w_valid));
    end
  end

  // Memory that changes hands: of any one context, and of all together.
  logic [ContextWidth-1:0] mine, beat_context_q;
  logic mine_closed, all_closed, mine_gone_q, all_gone_q, mine_is_owed;
  always_ff @(posedge clk_i) mine <= mine;

  always_comb begin
    mine_closed = 1'b1;
    all_closed = 1'b1;
    for (int unsigned i = 0; i < NumWindows; i++) begin
      if ((windows[i].read || windows[i].write) && windows[i].contexts[mine]) mine_closed = 1'b0;
      if (windows[i].read || windows[i].write) all_closed = 1'b0;
    end
    if (revoke_i) begin
      mine_closed = 1'b1;
      all_closed = 1'b1;
    end
  end

  // Closed and, at some time since, drained.
  always_ff @(posedge clk_i) begin
    mine_gone_q <= rst_ni && mine_closed && (drained || mine_gone_q);
    all_gone_q <= rst_ni && all_closed && (drained || all_gone_q);
    if (dut.u_write.w_step && dut.u_write.head.legal) beat_context_q <= dut.u_write.head.context_id;
  end

  always_comb begin
    mine_is_owed = 1'b0;
    for (int unsigned i = 0; i < MaxOutstanding; i++) begin
      if (32'(dut.u_write.owed_count_q) > i && dut.u_write.owed_q[2'(32'(dut.u_write.first_q) + i)].legal
          && dut.u_write.owed_q[2'(32'(dut.u_write.first_q) + i)].context_id == mine) mine_is_owed = 1'b1;
    end
  end

  always_ff @(posedge clk_i) begin
    if (rst_ni && Claims == 3) begin
      if (all_gone_q) begin
        NothingReachesMemory_A : assert (drained && !mem.aw_valid && !mem.ar_valid && !mem.w_valid);
      end
      if (mine_gone_q) begin
        NoRequestOfItReachesMemory_A :
        assert (!(mem.aw_valid && mem.aw.user == mine) && !(mem.ar_valid && mem.ar.user == mine));
        NoDataOfItIsOwed_A : assert (!mine_is_owed);
        NoDataOfItReachesMemory_A : assert (!(mem.w_valid && beat_context_q == mine));
      end
    end
  end

  // For induction: how what memory is owed is kept inside.
  logic [2:0] owed, legal_owed;
  logic refusing, last_in_register;
  logic [1:0] first;
  logic [3:0] place;
  logic watched_in_queue;
  time_t left;

  assign owed = dut.u_write.owed_count_q;
  assign first = dut.u_write.first_q;
  assign refusing = dut.u_write.u_admit.refusing_q;
  assign legal_owed = owed - 3'(refusing && owed != '0);
  assign last_in_register = mem.w_valid && mem.w.last;
  assign place = ahead_q - 4'(last_in_register);
  assign watched_in_queue = watching_q && !(ahead_q == '0 && last_in_register);

  // What the burst whose turn it is may still take, and how long it has taken.
  time_t turn_age_q;
  always_ff @(posedge clk_i) begin
    if (!rst_ni || owed == '0 || (dut.u_write.w_step && dut.u_write.w_last)) turn_age_q <= '0;
    else turn_age_q <= turn_age_q + 16'd1;
  end

  always_comb begin
    left = (16'(dut.u_write.owed_q[first].len) + 16'd1 - 16'(dut.u_write.beat_q)) * 16'(BeatCost)
        + 16'(MaxTimeout) + 16'd1 - 16'(dut.u_write.w_stall_q);
    // The cycle in which the slot is found late is nobody's: the cut begins with the next.
    if (!dut.cut) left = left + 16'd1;
    if (mem.w_valid) left = left + 16'(Latency) + 16'd1 - 16'(w_wait_q);
  end

  logic [1:0] slot_index;
  logic only_newest_refused;
  always_comb begin
    only_newest_refused = 1'b1;
    slot_index = '0;
    for (int unsigned i = 0; i < MaxOutstanding; i++) begin
      slot_index = first + 2'(i);
      if (32'(owed) > i && dut.u_write.owed_q[slot_index].legal != !(refusing && 32'(owed) == i + 1)) begin
        only_newest_refused = 1'b0;
      end
    end
  end

  logic [1:0] watched_index, newest;
  assign newest = dut.u_write.next_q - 2'd1;
  assign watched_index = first + place[1:0];

  always_ff @(posedge clk_i) begin
    if (rst_ni) begin
      QueueIsConsistent_A :
      assert (32'(owed) <= MaxOutstanding && dut.u_write.next_q == 2'(first + owed[1:0]));
      WritesAddUp_A :
      assert (dut.u_write.u_admit.count_q == 3'(answers_owed_q + 4'(aw_new) + 4'(refusing)));
      DataAddsUp_A : assert (4'(data_owed_q + 4'(aw_new)) == 4'(legal_owed) + 4'(last_in_register));
      CountsAreSmall_A : assert (answers_owed_q <= 4'd4 && data_owed_q <= 4'd4 && reads_owed_q <= 4'd4);
      AcceptedAddsUp_A : assert (accepted_q == 4'(answers_owed_q - 4'(aw_open_q)));
      CompleteAddsUp_A : assert (4'(complete_q + data_owed_q) == answers_owed_q);
      CompleteIsSmall_A : assert (complete_q <= answers_owed_q && accepted_q <= answers_owed_q);
      ReadsAddUp_A :
      assert (dut.u_read.u_admit.count_q == 3'(reads_owed_q + 4'(ar_new) + 4'(dut.u_read.u_admit.refusing_q)));
      OpenIsOffered_A : assert ((!aw_open_q || mem.aw_valid) && (!ar_open_q || mem.ar_valid));
      OpenIsOwed_A : assert (answers_owed_q >= 4'(aw_open_q) && reads_owed_q >= 4'(ar_open_q));
      if (aw_new) begin
        NewestIsOffered_A :
        assert (owed != '0 && !refusing && dut.u_write.owed_q[newest].len == mem.aw.len
                && (owed != 3'd1 || dut.u_write.beat_q == '0));
      end
      if (mem.w_valid) begin
        RegisterFollowsHead_A :
        assert (mem.w.last ? dut.u_write.beat_q == '0 || !dut.u_write.owed_q[first].legal
                           : owed != '0 && dut.u_write.owed_q[first].legal && dut.u_write.beat_q != '0);
      end
      OnlyTheNewestIsRefused_A : assert (only_newest_refused);
      HeadIsUnderWay_A :
      assert (owed != '0 ? dut.u_write.beat_q <= dut.u_write.owed_q[first].len : dut.u_write.beat_q == '0);
      StallIsBounded_A : assert (dut.u_write.w_stall_q <= timeout || dut.cut);
      NoStallWhileIdle_A : assert (owed != '0 || dut.u_write.w_stall_q == '0);
      LateIsCut_A : assert (dut.u_write.w_stall_q <= timeout && dut.u_write.b_stall_q <= timeout
                            && dut.u_read.r_stall_q <= timeout);
      AnswerWaitIsStall_A : assert (32'(b_wait_q) <= 32'(dut.u_write.b_stall_q) + 32'(dut.cut));
      ReadWaitIsStall_A : assert (32'(r_wait_q) <= 32'(dut.u_read.r_stall_q) + 32'(dut.cut));
      BeatWaitIsBounded_A : assert (32'(w_wait_q) <= Latency && (mem.w_valid || w_wait_q == '0));
      if (Claims != 2) begin
        // Time is not looked at.
      end else if (owed != '0 && dut.u_write.owed_q[first].legal) begin
        TurnAddsUp_A : assert (32'(turn_age_q) + 32'(left) <= TurnCost);
      end else if (owed == '0) NoTurnWhileIdle_A : assert (turn_age_q == '0);
      WatchedIsWatching_A : assert (!watching_q || watched_q);
      if (watching_q) begin
        AheadIsOwed_A : assert (ahead_q < data_owed_q);
        BeatsCount_A : assert (watched_beats_q <= watched_len_q);
        NothingSentYet_A : assert (ahead_q == '0 || watched_beats_q == '0);
        if (!watched_in_queue) LastBeatIsLast_A : assert (watched_beats_q == watched_len_q);
        if (watched_in_queue) begin
          WatchedHasAPlace_A : assert (place < 4'(legal_owed));
          WatchedKeepsItsLength_A : assert (dut.u_write.owed_q[watched_index].len == watched_len_q);
          if (place == '0) begin
            WatchedBeatsAddUp_A :
            assert (9'(dut.u_write.beat_q) == 9'(watched_beats_q) + 9'(mem.w_valid && ahead_q == '0));
          end else BehindOthers_A : assert (watched_beats_q == '0);
        end
        if (Claims == 2 && watched_in_queue) begin
          TurnsAddUp_A : assert (32'(age_q) <= (32'd3 - 32'(place)) * TurnCost + 32'(turn_age_q) + 1);
        end else if (Claims == 2) LastTurnAddsUp_A : assert (32'(age_q) <= MaxOutstanding * TurnCost + 1 + 32'(w_wait_q));
      end
    end
  end

endmodule
