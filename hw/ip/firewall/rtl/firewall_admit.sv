// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
/// Admits the bursts of one direction: checks each request, passes it to memory or holds it for a local refusal.
///
/// A request waits for the result of the window lookup, except one that AXI forbids or that arrives during revocation.
/// A request is taken while fewer than `MaxOutstanding` are under way and none is being refused: a refused burst is
/// answered when all before it are done, so answers with one id stay in order.
module firewall_admit
  import eddy_pkg::*;
  import firewall_pkg::*;
#(
  parameter int unsigned MaxOutstanding = 8,
  /// Refuses as a write; else as a read.
  parameter bit          Write = 1'b0
) (
  input  logic                     clk_i,
  /// Synchronous reset, active low.
  input  logic                     rst_ni,
  /// Take no new request.
  input  logic                     block_i,
  /// The windows' answer to the request.
  output lookup_req_t              lookup_o,
  input  lookup_rsp_t              lookup_i,
  /// Refuse every request, whatever the windows say.
  input  logic                     revoke_i,
  /// Request of the slot.
  input  logic                     valid_i,
  output logic                     ready_o,
  input  ax_t                      ax_i,
  /// Request to memory; the payload stays until the next one, so it names the latest burst.
  output logic                     valid_o,
  input  logic                     ready_i,
  output ax_t                      ax_o,
  /// A request is taken in this cycle, and whether it goes to memory.
  output logic                     admit_o,
  output logic                     legal_o,
  /// Why it is refused, in that cycle.
  output cause_e                   cause_o,
  /// A burst is being refused and nothing else is under way, so it may be answered; its id and length.
  output logic                     answer_refused_o,
  output logic    [   IdWidth-1:0] refused_id_o,
  output logic    [           7:0] refused_len_o,
  /// A burst, refused ones included, has been answered.
  input  logic                     finish_i,
  /// Nothing is under way.
  output logic                     idle_o,
  /// Nothing that went to memory is under way; a burst being refused may be.
  output logic                     drained_o
);

  if (MaxOutstanding < 2 || (MaxOutstanding & (MaxOutstanding - 1)) != 0) begin : gen_check_outstanding
    $fatal(1, "firewall: MaxOutstanding must be a power of two, 2 or more");
  end

  localparam int unsigned CountWidth = $clog2(MaxOutstanding) + 1;
  typedef logic [CountWidth-1:0] count_t;

  count_t count_q;
  logic valid_q, refusing_q;
  ax_t ax_q;
  logic [IdWidth-1:0] refused_id_q;
  logic [7:0] refused_len_q;

  logic allowed, known;

  // Only looks while there is a request, for a simulator's sake.
  always_comb begin
    allowed = 1'b0;
    if (valid_i) allowed = burst_is_legal(ax_i.addr[PageBits-1:0], ax_i.len, ax_i.size, ax_i.burst);
  end

  // The lookup runs in parallel with the check of AXI's rules.
  assign lookup_o = '{
    look: valid_i,
    taken: admit_o,
    page: ax_i.addr[AddrWidth-1:PageBits],
    context_id: ax_i.user
  };
  assign known = !allowed || (revoke_i || lookup_i.hit || lookup_i.miss);

  assign ready_o = (!block_i && !refusing_q && (!valid_q || ready_i) && count_q != count_t'(MaxOutstanding)) && known;
  assign admit_o = valid_i && ready_o;
  assign legal_o = allowed && lookup_i.hit && !revoke_i;

  always_comb begin
    cause_o = CauseNone;
    if (admit_o && !legal_o) begin
      if (!allowed) cause_o = CauseIllegalBurst;
      else cause_o = Write ? CauseWriteOutsideWindow : CauseReadOutsideWindow;
    end
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      count_q <= '0;
      valid_q <= 1'b0;
      refusing_q <= 1'b0;
    end else begin
      if (admit_o != finish_i) count_q <= admit_o ? count_q + count_t'(1) : count_q - count_t'(1);
      if (admit_o && legal_o) valid_q <= 1'b1;
      else if (ready_i) valid_q <= 1'b0;
      if (admit_o && !legal_o) refusing_q <= 1'b1;
      else if (answer_refused_o && finish_i) refusing_q <= 1'b0;
    end
  end

  always_ff @(posedge clk_i) begin
    if (admit_o) begin
      if (legal_o) ax_q <= ax_i;
      else begin
        refused_id_q <= ax_i.id;
        refused_len_q <= ax_i.len;
      end
    end
  end

  assign valid_o = valid_q;
  assign ax_o = ax_q;
  assign answer_refused_o = refusing_q && count_q == count_t'(1);
  assign refused_id_o = refused_id_q;
  assign refused_len_o = refused_len_q;
  assign idle_o = count_q == '0;
  // A refusal stops admission, so the refused burst is the newest outstanding one, and the only refused one.
  assign drained_o = count_q == count_t'(refusing_q);

`ifndef SYNTHESIS
  always_ff @(posedge clk_i) begin
    if (rst_ni) begin
      OutstandingIsBounded_A :
      assert (count_q <= count_t'(MaxOutstanding))
      else $error("firewall: more bursts under way than allowed");
      // Holds for any memory that responds only to requests.
      NothingFinishesUnasked_A :
      assert (!finish_i || count_q != '0)
      else $error("firewall: memory answered a burst nobody asked for");
    end
  end
`endif

endmodule
