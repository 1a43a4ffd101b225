// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
`include "clock_when.svh"

/// The answer of a data cache, until it is taken: data of the lanes of the access under way, as they are served.
///
/// A load is answered when it has ended, or in part when it is parked; an atomic access and a fence at their ends. What is put into
/// the register while an answer waits in it is the caller's fault: `free_o` says when it may be.
module gpu_dcache_answer #(
  parameter int unsigned Threads = 4,
  parameter int unsigned TagWidth = 12,
  parameter int unsigned Banks = 4
) (
  input  logic                     clk_i,
  /// Something here may change: a simulation looks at no clock without it.
  input  logic                     awake_i,
  /// Synchronous reset, active low.
  input  logic                     rst_ni,
  output logic                     free_o,

  /// Lanes of a load are served from the banks; they are its last.
  input  logic                     load_i,
  input  logic                     finish_i,
  input  logic [Threads-1:0]       lanes_i,
  /// funct3 of the load.
  input  logic [2:0]               size_i,
  input  logic [Threads-1:0][31:0] addr_i,
  input  logic [Banks-1:0][31:0]   words_i,
  /// It is parked. What has been served of it is answered before it.
  input  logic                     park_i,
  /// A lane of an atomic access has been served; the access has ended.
  input  logic                     amo_i,
  input  logic [Threads-1:0]       amo_lane_i,
  input  logic [31:0]              amo_data_i,
  input  logic                     amo_finish_i,
  input  logic [TagWidth-1:0]      tag_i,
  /// A fence has ended, with nothing else under way.
  input  logic                     fence_i,
  input  logic [TagWidth-1:0]      fence_tag_i,

  output logic                     rsp_valid_o,
  input  logic                     rsp_ready_i,
  output logic                     rsp_last_o,
  output logic [Threads-1:0]       rsp_mask_o,
  output logic [TagWidth-1:0]      rsp_tag_o,
  output logic [31:0]              rsp_data_o [Threads]
);

  // Lanes of the access under way whose data are here.
  logic [Threads-1:0] served_q, served;
  logic [Threads-1:0][31:0] data_q;
  logic answers, ends;

  // Of addresses the place in the line.
  logic unused;
  always_comb begin
    unused = 1'b0;
    for (int t = 0; t < int'(Threads); t++) unused ^= ^addr_i[t][31:6];
  end

  localparam int unsigned BankWidth = $clog2(Banks);

  function automatic logic [31:0] extract(logic [31:0] word, logic [1:0] offset, logic [2:0] size);
    logic [31:0] shifted;
    shifted = word >> {offset, 3'd0};
    unique case (size[1:0])
      2'd0: return {{24{shifted[7] && !size[2]}}, shifted[7:0]};
      2'd1: return {{16{shifted[15] && !size[2]}}, shifted[15:0]};
      default: return shifted;
    endcase
  endfunction

  assign served = served_q | (load_i ? lanes_i : '0) | (amo_i ? amo_lane_i : '0);
  assign ends = (load_i && finish_i) || amo_finish_i || park_i;
  assign answers = (load_i && finish_i) || amo_finish_i || fence_i || (park_i && served_q != '0);
  assign free_o = !rsp_valid_o || rsp_ready_i;

  always_comb for (int t = 0; t < int'(Threads); t++) rsp_data_o[t] = data_q[t];

  always_ff @(`EDDY_RISES(clk_i, awake_i)) begin
    if (!rst_ni) begin
      rsp_valid_o <= 1'b0;
      served_q <= '0;
    end else begin
      if (answers) rsp_valid_o <= 1'b1;
      else if (rsp_ready_i) rsp_valid_o <= 1'b0;
      if (ends) served_q <= '0;
      else if (load_i || amo_i) served_q <= served;
    end
  end

  always_ff @(`EDDY_RISES(clk_i, awake_i)) begin
    if (answers) begin
      rsp_last_o <= !park_i;
      rsp_mask_o <= served;
      rsp_tag_o <= fence_i ? fence_tag_i : tag_i;
    end
    for (int t = 0; t < int'(Threads); t++) begin
      if (load_i && lanes_i[t]) begin
        data_q[t] <= extract(words_i[BankWidth'(gpu_lines_pkg::bank_of(addr_i[t][5:2], Banks))], addr_i[t][1:0], size_i);
      end else if (amo_i && amo_lane_i[t]) begin
        data_q[t] <= amo_data_i;
      end
    end
  end

`ifndef SYNTHESIS
  NothingIsLost_A : assert property (@(posedge clk_i) disable iff (!rst_ni) answers |-> free_o);
  OneAtATime_A : assert property (@(posedge clk_i) disable iff (!rst_ni) $onehot0({load_i, park_i, amo_i, fence_i}));
  NothingOfAFence_A : assert property (@(posedge clk_i) disable iff (!rst_ni) fence_i |-> served_q == '0);
`endif

endmodule
