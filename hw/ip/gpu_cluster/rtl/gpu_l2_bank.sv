// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
/// Registers of a cluster's second-level cache: what to flush, and how often a line was there.
module gpu_l2_bank
  import eddy_pkg::*;
  import gpu_pkg::*;
  import gpu_cluster_regs_pkg::*;
#(
  localparam int unsigned LineWidth = AddrWidth - LineOffset
) (
  input  logic                 clk_i,
  /// Synchronous reset, active low.
  input  logic                 rst_ni,
  input  logic                 write_i,
  input  logic [7:0]           waddr_i,
  input  logic [31:0]          wdata_i,
  input  logic [31:0]          wmask_i,
  input  logic                 read_i,
  input  logic [7:0]           raddr_i,
  /// Combinational.
  output logic [31:0]          rdata_o,
  output logic                 flush_o,
  output logic [LineWidth-1:0] flush_first_o,
  output logic [LineWidth-1:0] flush_last_o,
  input  logic                 flush_busy_i,
  input  logic                 hit_event_i,
  input  logic                 miss_event_i
);

  logic [AddrWidth-1:0] base_q, last;
  logic [31:0] bytes_q, high_q;
  logic [63:0] hits_q, misses_q;
  logic flush_q;

  function automatic logic [31:0] merged(logic [31:0] old);
    return (old & ~wmask_i) | (wdata_i & wmask_i);
  endfunction

  assign last = base_q + AddrWidth'(bytes_q) - AddrWidth'(1);
  assign flush_o = flush_q;
  assign flush_first_o = base_q[AddrWidth-1:LineOffset];
  // To the end of memory where no size is given, or where the range reaches beyond.
  assign flush_last_o = (bytes_q == '0 || last < base_q) ? '1 : last[AddrWidth-1:LineOffset];

  logic unused;
  assign unused = ^last[LineOffset-1:0];

  always_comb begin
    rdata_o = '0;
    if (read_i) begin
      unique case (raddr_i)
        L2BaseLoOffset[7:0]:  rdata_o = base_q[31:0];
        L2BaseHiOffset[7:0]:  rdata_o = 32'(base_q[AddrWidth-1:32]);
        L2BytesOffset[7:0]:   rdata_o = bytes_q;
        L2FlushOffset[7:0]:   rdata_o = {31'd0, flush_busy_i || flush_q};
        L2HitsOffset[7:0]:    rdata_o = hits_q[31:0];
        L2MissesOffset[7:0]:  rdata_o = misses_q[31:0];
        L2CountHiOffset[7:0]: rdata_o = high_q;
        default: ;
      endcase
    end
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      base_q <= '0;
      bytes_q <= '0;
      high_q <= '0;
      hits_q <= '0;
      misses_q <= '0;
      flush_q <= 1'b0;
    end else begin
      flush_q <= 1'b0;
      if (write_i) begin
        unique case (waddr_i)
          L2BaseLoOffset[7:0]: base_q[31:0] <= merged(base_q[31:0]);
          L2BaseHiOffset[7:0]: base_q[AddrWidth-1:32] <= (AddrWidth - 32)'(merged(32'(base_q[AddrWidth-1:32])));
          L2BytesOffset[7:0]:  bytes_q <= merged(bytes_q);
          L2FlushOffset[7:0]:  flush_q <= wdata_i[0] && wmask_i[0];
          default: ;
        endcase
      end
      if (read_i && raddr_i == L2HitsOffset[7:0]) high_q <= hits_q[63:32];
      if (read_i && raddr_i == L2MissesOffset[7:0]) high_q <= misses_q[63:32];
      if (hit_event_i) hits_q <= hits_q + 64'd1;
      if (miss_event_i) misses_q <= misses_q + 64'd1;
    end
  end

endmodule
