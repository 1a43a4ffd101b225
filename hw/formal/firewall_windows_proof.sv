// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
/// Whatever software writes into the table of windows and whenever, and whatever is asked of it:
/// - a hit is one: a window of the table as it stands in that cycle lets the request's page through, for its context and
///   direction;
/// - a miss is one: none does;
/// - it is never both.
///
/// Assumed: software waits until the table is ready. Of misses alone: a request stays as it is until it is taken, or goes.
module firewall_windows_proof
  import eddy_pkg::*;
  import firewall_pkg::*;
#(
  parameter int unsigned NumWindows = 4,
  /// Requests stay, and misses are looked at.
  parameter bit Stays = 1
) (
  input logic                          clk_i,
  input logic                          rst_ni,
  input logic                          sel_i,
  input logic                          write_i,
  input logic [$clog2(NumWindows)-1:0] index_i,
  input logic [                   1:0] word_i,
  input logic [                  31:0] wdata_i,
  input lookup_req_t                   read_req_i,
  input lookup_req_t                   write_req_i
);

  localparam int unsigned IndexWidth = $clog2(NumWindows);

  logic ready;
  logic [31:0] rdata;
  lookup_rsp_t read_rsp, write_rsp;

  firewall_windows #(
    .NumWindows(NumWindows)
  ) dut (
    .clk_i, .rst_ni, .ready_o(ready), .sel_i, .write_i, .index_i, .word_i, .wdata_i, .rdata_o(rdata),
    .read_req_i, .read_rsp_o(read_rsp), .write_req_i, .write_rsp_o(write_rsp)
  );

  logic started_q = 1'b0;
  always_ff @(posedge clk_i) started_q <= 1'b1;
  always_comb InReset_M : assume (rst_ni == started_q);
  always_comb if (!ready) SoftwareWaits_M : assume (!sel_i);

  // The table as software wrote it.
  window_t [NumWindows-1:0] table_q;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      table_q <= '0;
    end else if (sel_i && write_i) begin
      if (word_i == 2'd0) table_q[index_i].base <= wdata_i[PageWidth-1:0];
      if (word_i == 2'd1) table_q[index_i].last <= wdata_i[PageWidth-1:0];
      if (word_i == 2'd2) begin
        table_q[index_i].contexts <= wdata_i[31:16];
        table_q[index_i].write <= wdata_i[1];
        table_q[index_i].read <= wdata_i[0];
      end
    end
  end

  function automatic logic lets_through(window_t window, logic write, logic [PageWidth-1:0] page,
                                        logic [ContextWidth-1:0] context_id);
    return (write ? window.write : window.read) && window.contexts[context_id] && page >= window.base
        && page <= window.last;
  endfunction

  always_ff @(posedge clk_i) begin
    if (rst_ni && sel_i && !write_i) begin
      unique case (word_i)
        2'd0: FirstPageReadsBack_A : assert (rdata == 32'(table_q[index_i].base));
        2'd1: LastPageReadsBack_A : assert (rdata == 32'(table_q[index_i].last));
        2'd2: FlagsReadBack_A :
          assert (rdata == {table_q[index_i].contexts, 14'd0, table_q[index_i].write, table_q[index_i].read});
        default: NothingReadsZero_A : assert (rdata == '0);
      endcase
    end
  end

  // For induction: the memories hold the table, except for what is still to be closed.
  for (genvar i = 0; i < NumWindows; i++) begin : gen_memories
    always_ff @(posedge clk_i) begin
      if (rst_ni && (ready || 32'(dut.closed_q) > i)) begin
        MemoryIsTable_A :
        assert (dut.bases_q[i] == table_q[i].base && dut.lasts_q[i] == table_q[i].last
                && dut.flags_q[i] == {table_q[i].contexts, table_q[i].write, table_q[i].read});
      end
      if (rst_ni && !ready) NothingIsOpenYet_A : assert (table_q[i] == '0);
    end
  end

  for (genvar way = 0; way < 2; way++) begin : gen_ways
    lookup_req_t req, before_q;
    lookup_rsp_t rsp;
    logic usable, fresh, open_q, found;
    logic [IndexWidth-1:0] at;
    logic [IndexWidth:0] tried;
    window_t kept;
    logic untried_only;

    if (way == 0) begin : gen_read
      assign req = read_req_i;
      assign rsp = read_rsp;
      assign usable = dut.u_read.usable_q;
      assign fresh = dut.u_read.fresh_q;
      assign at = dut.u_read.index_q;
      assign tried = dut.u_read.tried_q;
      assign kept = '{contexts: dut.u_read.contexts_q, write: 1'b0, read: 1'b1, last: dut.u_read.last_q,
                      base: dut.u_read.base_q};
    end else begin : gen_write
      assign req = write_req_i;
      assign rsp = write_rsp;
      assign usable = dut.u_write.usable_q;
      assign fresh = dut.u_write.fresh_q;
      assign at = dut.u_write.index_q;
      assign tried = dut.u_write.tried_q;
      assign kept = '{contexts: dut.u_write.contexts_q, write: 1'b1, read: 1'b0, last: dut.u_write.last_q,
                      base: dut.u_write.base_q};
    end

    // Not taken, and no hit: the request stays, or goes.
    always_ff @(posedge clk_i) begin
      open_q <= rst_ni && req.look && !req.taken && !rsp.hit;
      before_q <= req;
    end
    always_comb begin
      if (Stays && open_q && req.look) RequestStays_M : assume (req.page == before_q.page && req.context_id == before_q.context_id);
    end

    always_comb begin
      found = 1'b0;
      for (int unsigned i = 0; i < NumWindows; i++) begin
        if (lets_through(table_q[i], way == 1, req.page, req.context_id)) found = 1'b1;
      end
    end

    always_ff @(posedge clk_i) begin
      if (rst_ni) begin
        HitIsOne_A : assert (!rsp.hit || (req.look && found));
        if (Stays) MissIsOne_A : assert (!rsp.miss || (req.look && !found));
        NeverBoth_A : assert (!(rsp.hit && rsp.miss));
      end
    end

    // For induction: the window kept is one of the table; those tried are not the request's, but the one that is being
    // compared in this cycle.
    always_comb begin
      untried_only = 1'b1;
      for (int unsigned i = 0; i < NumWindows; i++) begin
        if (i < 32'(tried) && lets_through(table_q[i], way == 1, before_q.page, before_q.context_id)
            && !(fresh && at == IndexWidth'(i))) untried_only = 1'b0;
      end
    end

    always_ff @(posedge clk_i) begin
      if (rst_ni) begin
        KeptIsOfTheTable_A :
        assert (!usable || (ready && kept.base == table_q[at].base && kept.last == table_q[at].last
                            && kept.contexts == table_q[at].contexts
                            && (way == 0 ? table_q[at].read : table_q[at].write)));
        FreshIsUsableOrClosed_A :
        assert (!fresh || usable || tried == '0 || !(way == 0 ? table_q[at].read : table_q[at].write));
        if (Stays) TriedAreNotIt_A : assert (untried_only);
        TriedIsBounded_A : assert (32'(tried) <= NumWindows);
        TriedOnlyWhileOpen_A : assert (tried == '0 || open_q);
        NothingTriedUnready_A : assert (ready || tried == '0);
      end
    end
  end

endmodule
