/// Gathers stores to one line and sends it out as one write.
///
/// A line leaves when a store to another line arrives, when it is `MaxAge` cycles old, or when `flush_i` asks. Stores to
/// the first `IoLines` lines are never gathered: console and exit register want every store. Up to `Slots` lines may be
/// unanswered; they share one AXI id, so memory sees them in order.
module gpu_store_buffer
  import gpu_pkg::*;
#(
  /// Cycles after which a line is sent even if nothing else happens, so that stores become visible.
  parameter int unsigned MaxAge = 64,
  parameter int unsigned Slots = 4,
  /// Lines of I/O at address 0.
  parameter int unsigned IoLines = 4
) (
  input  logic                     clk_i,
  /// Synchronous reset, active low: what is inside is lost.
  input  logic                     rst_ni,
  input  logic                     push_i,
  /// Whether `push_i` would be taken now.
  output logic                     push_ready_o,
  input  logic [LineAddrWidth-1:0] push_line_i,
  input  logic [LineBits-1:0]      push_data_i,
  input  logic [LineBytes-1:0]     push_strb_i,
  input  logic                     flush_i,
  /// Nothing inside and nothing unanswered.
  output logic                     empty_o,
  /// A line about to be read: `conflict_o` while a store to it has not landed.
  input  logic [LineAddrWidth-1:0] probe_line_i,
  output logic                     conflict_o,
  output logic                     wr_valid_o,
  input  logic                     wr_ready_i,
  output logic [LineAddrWidth-1:0] wr_line_o,
  output logic [LineBits-1:0]      wr_data_o,
  output logic [LineBytes-1:0]     wr_strb_o,
  input  logic                     wr_done_i,
  input  logic                     wr_error_i,
  output logic                     error_o,
  output logic [31:0]              error_addr_o
);

  localparam int unsigned SlotWidth = $clog2(Slots);
  localparam int unsigned AgeWidth = $clog2(MaxAge + 1);

  logic valid_q, send, same, io;
  logic [LineAddrWidth-1:0] line_q;
  logic [LineBits-1:0] data_q;
  logic [LineBytes-1:0] strb_q;
  logic [AgeWidth-1:0] age_q;
  logic [LineAddrWidth-1:0] slot_line_q [Slots];
  logic [Slots-1:0] slot_q;
  logic [SlotWidth-1:0] head_q, tail_q;

  assign io = line_q < LineAddrWidth'(IoLines);
  assign same = line_q == push_line_i && !io;
  assign send = valid_q && wr_valid_o && wr_ready_i;
  // A line in the act of leaving takes no more stores.
  assign push_ready_o = !valid_q || (same && !wr_valid_o);
  assign wr_valid_o = valid_q && !(&slot_q) && (flush_i || io || age_q == AgeWidth'(MaxAge) || (push_i && !same));
  assign wr_line_o = line_q;
  assign wr_data_o = data_q;
  assign wr_strb_o = strb_q;
  assign empty_o = !valid_q && slot_q == '0;
  assign error_o = wr_done_i && wr_error_i;
  assign error_addr_o = {slot_line_q[head_q], {LineOffset{1'b0}}};

  always_comb begin
    conflict_o = valid_q && line_q == probe_line_i;
    for (int s = 0; s < int'(Slots); s++) begin
      if (slot_q[s] && slot_line_q[s] == probe_line_i) conflict_o = 1'b1;
    end
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      valid_q <= 1'b0;
      slot_q <= '0;
      head_q <= '0;
      tail_q <= '0;
      age_q <= '0;
    end else begin
      if (valid_q && age_q != AgeWidth'(MaxAge)) age_q <= age_q + 1'b1;
      if (send) begin
        valid_q <= 1'b0;
        slot_q[tail_q] <= 1'b1;
        slot_line_q[tail_q] <= line_q;
        tail_q <= tail_q + 1'b1;
      end
      if (wr_done_i) begin
        slot_q[head_q] <= 1'b0;
        head_q <= head_q + 1'b1;
      end
      if (push_i && push_ready_o) begin
        valid_q <= 1'b1;
        line_q <= push_line_i;
        if (!valid_q) begin
          age_q <= '0;
          strb_q <= push_strb_i;
        end else begin
          strb_q <= strb_q | push_strb_i;
        end
        for (int b = 0; b < int'(LineBytes); b++) begin
          if (push_strb_i[b]) data_q[8*b+:8] <= push_data_i[8*b+:8];
        end
      end
    end
  end

`ifndef SYNTHESIS
  AnswersHaveAskers_A : assert property (@(posedge clk_i) disable iff (!rst_ni) wr_done_i |-> slot_q[head_q]);
`endif

endmodule
