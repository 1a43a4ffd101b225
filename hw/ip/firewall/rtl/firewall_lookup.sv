// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
/// Finds out whether a window of the table lets one direction's request through, one window a cycle.
///
/// One window is kept beside the request, and compared with it: the one that the last request was found in, so that what
/// stays in a window does not wait. Where it does not fit, from the next cycle on windows are taken from the table
/// (`load_o`): first the one in which a page like this was found before, then each in its turn. `hit_o` and `miss_o` are the table's answer to the
/// request of this cycle, never both; neither means that it is not known yet. A request is to stay as it is until
/// then, and while it does, the answer stays until the table changes.
module firewall_lookup
  import eddy_pkg::*;
  import firewall_pkg::*;
#(
  parameter int unsigned NumWindows = 16,
  parameter int unsigned IndexWidth = $clog2(NumWindows),
  /// Asks for write permission; else for read permission.
  parameter bit          Write = 1'b0
) (
  input  logic                    clk_i,
  /// Synchronous reset, active low.
  input  logic                    rst_ni,
  /// The table changes with the end of this cycle: forget what was taken from it.
  input  logic                    changed_i,
  /// A request asks; its page and context; and it has been taken, so that the next may be another.
  input  logic                    look_i,
  input  logic [   PageWidth-1:0] page_i,
  input  logic [ContextWidth-1:0] context_i,
  input  logic                    taken_i,
  output logic                    hit_o,
  output logic                    miss_o,
  /// A window is wanted, and which; it is there in this cycle.
  output logic                    load_o,
  output logic [  IndexWidth-1:0] index_o,
  input  logic                    grant_i,
  input  window_t                 window_i
);

  localparam int unsigned NumGuesses = 16;
  typedef logic [IndexWidth-1:0] index_t;

  logic [PageWidth-1:0] base_q, last_q;
  logic [NumContexts-1:0] contexts_q;
  /// The window may be used, in this direction; it was loaded one cycle ago; where it stands in the table.
  logic usable_q, fresh_q;
  index_t index_q;
  /// The last cycle had no answer; where a page like its was found before.
  logic seek_q;
  index_t guess_q;
  // Windows tried in their turn, for this request; the guess comes before them.
  logic guessed_q;
  logic [IndexWidth:0] tried_q;
  index_t guesses_q [NumGuesses];
  logic keep;
  logic [3:0] likeness;

  // Only looks while there is a request, for a simulator's sake.
  always_comb begin
    hit_o = 1'b0;
    if (look_i) hit_o = usable_q && contexts_q[context_i] && base_q <= page_i && page_i <= last_q;
  end

  assign miss_o = look_i && !hit_o && tried_q == (IndexWidth + 1)'(NumWindows);
  // Chosen by flops alone, so that the table is read beside the comparison; what is not needed any more is not kept.
  assign load_o = seek_q && tried_q != (IndexWidth + 1)'(NumWindows);
  assign index_o = guessed_q ? tried_q[IndexWidth-1:0] : guess_q;
  assign keep = grant_i && look_i && !hit_o;

  // Pages of one buffer spread over the guesses, and so do buffers that are read side by side.
  assign likeness = page_i[3:0] ^ page_i[7:4] ^ page_i[11:8];

  always_ff @(posedge clk_i) begin
    if (fresh_q && hit_o) guesses_q[likeness] <= index_q;
  end

  always_ff @(posedge clk_i) begin
    if (look_i && !hit_o && !seek_q) guess_q <= guesses_q[likeness];
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      usable_q <= 1'b0;
      seek_q <= 1'b0;
      fresh_q <= 1'b0;
      guessed_q <= 1'b0;
      tried_q <= '0;
    end else begin
      seek_q <= look_i && !hit_o && !taken_i;
      fresh_q <= keep;
      if (changed_i) usable_q <= 1'b0;
      else if (keep) usable_q <= Write ? window_i.write : window_i.read;
      if (changed_i || !look_i || hit_o || taken_i) begin
        guessed_q <= 1'b0;
        tried_q <= '0;
      end else if (keep) begin
        guessed_q <= 1'b1;
        if (guessed_q) tried_q <= tried_q + (IndexWidth + 1)'(1);
      end
    end
  end

  always_ff @(posedge clk_i) begin
    if (keep) begin
      base_q <= window_i.base;
      last_q <= window_i.last;
      contexts_q <= window_i.contexts;
      index_q <= index_o;
    end
  end

endmodule
