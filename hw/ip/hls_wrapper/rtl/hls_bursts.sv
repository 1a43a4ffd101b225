// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
/// Cuts lists of memory ranges into bursts and offers them on an AXI address channel, in order.
///
/// Bursts are INCR, at most `MaxBurst` beats, and never cross 4 KiB. A burst is offered in the cycle after `issue_o`.
module hls_bursts #(
  /// Ranges of one run, in order.
  parameter int unsigned NumRanges = 1,
  /// Width of a range's length in words.
  parameter int unsigned BeatsWidth = 24,
  parameter int unsigned MaxBurst = 16
) (
  input  logic clk_i,
  /// Synchronous reset, active low.
  input  logic rst_ni,

  /// Begin a run; ranges must stay stable until `done_o`.
  input  logic                                 start_i,
  input  logic [NumRanges-1:0][39:0]           addr_i,
  input  logic [NumRanges-1:0][BeatsWidth-1:0] beats_i,
  /// Every burst of the run has been issued; the last may still be offered.
  output logic                                 done_o,

  /// Beats of the next burst, and whether it may be issued now.
  output logic [8:0]  burst_o,
  input  logic        allow_i,
  output logic        issue_o,

  output logic [39:0] ax_addr_o,
  output logic [7:0]  ax_len_o,
  output logic        ax_valid_o,
  input  logic        ax_ready_i
);

  if (MaxBurst < 1 || MaxBurst > 256) begin : gen_check_burst
    $fatal(1, "hls_bursts: MaxBurst must be from 1 to 256, the bounds of AXI4");
  end

  localparam int unsigned IndexWidth = $clog2(NumRanges + 1);

  logic [IndexWidth-1:0] index_q;
  logic [39:0] addr_q;
  logic [BeatsWidth-1:0] left_q;
  logic [9:0] to_page_end;
  logic load;

  assign to_page_end = 10'd512 - {1'b0, addr_q[11:3]};

  // What is left, at most `MaxBurst` beats, and not across 4 KiB.
  always_comb begin
    burst_o = 9'(MaxBurst);
    if (to_page_end < 10'(MaxBurst)) burst_o = to_page_end[8:0];
    if (left_q < BeatsWidth'(burst_o)) burst_o = 9'(left_q);
  end

  assign load    = left_q == '0 && index_q != IndexWidth'(NumRanges);
  assign issue_o = left_q != '0 && (!ax_valid_o || ax_ready_i) && allow_i;
  assign done_o  = index_q == IndexWidth'(NumRanges) && left_q == '0;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      index_q <= IndexWidth'(NumRanges);
      left_q  <= '0;
      addr_q  <= '0;
    end else if (start_i) begin
      index_q <= '0;
    end else if (load) begin
      index_q <= index_q + 1'b1;
      for (int unsigned i = 0; i < NumRanges; i++) begin
        if (index_q == IndexWidth'(i)) begin
          addr_q <= addr_i[i];
          left_q <= beats_i[i];
        end
      end
    end else if (issue_o) begin
      addr_q <= addr_q + {28'd0, burst_o, 3'd0};
      left_q <= left_q - BeatsWidth'(burst_o);
    end
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      ax_valid_o <= 1'b0;
      ax_addr_o  <= '0;
      ax_len_o   <= '0;
    end else if (issue_o) begin
      ax_valid_o <= 1'b1;
      ax_addr_o  <= addr_q;
      ax_len_o   <= 8'(burst_o - 9'd1);
    end else if (ax_ready_i) begin
      ax_valid_o <= 1'b0;
    end
  end

endmodule
