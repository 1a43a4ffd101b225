/// Brings the slots' bursts to one memory port, in turns, and the answers back to whose they are.
///
/// Requests: round robin over the slots that ask, reads and writes apart, one a cycle. The slot goes into the upper id
/// and user bits. Write data follows in the order of the requests. Slots stand behind `burst_buffer`s: they have their
/// write data ready and room for every answer, so no slot can hold up another here. Every output is a flop.
module mem_xbar
  import eddy_pkg::*;
#(
  parameter int unsigned NumSlots = 1,
  /// Write bursts whose data is under way; a power of two.
  parameter int unsigned MaxWrites = 16
) (
  input  logic           clk_i,
  /// Synchronous reset, active low.
  input  logic           rst_ni,

  /// From the slots; answers go to all of them, valid for one.
  input  ax_t            slot_aw_i [NumSlots],
  input  logic [NumSlots-1:0] slot_aw_valid_i,
  output logic [NumSlots-1:0] slot_aw_ready_o,
  input  w_t             slot_w_i [NumSlots],
  input  logic [NumSlots-1:0] slot_w_valid_i,
  output logic [NumSlots-1:0] slot_w_ready_o,
  output logic [NumSlots-1:0] slot_b_valid_o,
  input  ax_t            slot_ar_i [NumSlots],
  input  logic [NumSlots-1:0] slot_ar_valid_i,
  output logic [NumSlots-1:0] slot_ar_ready_o,
  output logic [NumSlots-1:0] slot_r_valid_o,

  output ax_t            aw_o,
  output logic     [3:0] aw_slot_o,
  output logic           aw_valid_o,
  input  logic           aw_ready_i,
  output w_t             w_o,
  output logic           w_valid_o,
  input  logic           w_ready_i,
  input  logic     [3:0] b_slot_i,
  input  logic           b_valid_i,
  output logic           b_ready_o,
  output ax_t            ar_o,
  output logic     [3:0] ar_slot_o,
  output logic           ar_valid_o,
  input  logic           ar_ready_i,
  input  logic     [3:0] r_slot_i,
  input  logic           r_valid_i,
  output logic           r_ready_o
);

  localparam int unsigned IndexWidth = $clog2(MaxWrites);
  localparam int unsigned SlotWidth = NumSlots > 1 ? $clog2(NumSlots) : 1;
  typedef logic [SlotWidth-1:0] slot_t;
  typedef logic [NumSlots-1:0] mask_t;

  /// The first of `asking` after `last`, going round; `last` itself comes last.
  function automatic slot_t next_slot(mask_t asking, slot_t last);
    slot_t chosen;
    chosen = last;
    for (int i = NumSlots - 1; i >= 0; i--) if (asking[i]) chosen = slot_t'(i);
    for (int i = NumSlots - 1; i >= 0; i--) if (asking[i] && slot_t'(i) > last) chosen = slot_t'(i);
    return chosen;
  endfunction

  // Requests.
  ax_t aw_q, ar_q;
  slot_t aw_slot_q, ar_slot_q, aw_next, ar_next;
  logic aw_valid_q, ar_valid_q, aw_take, ar_take;

  // Whose write data comes, oldest first.
  slot_t order_q [MaxWrites];
  logic [IndexWidth:0] order_in_q, order_out_q;
  slot_t w_slot;
  logic w_open, w_take, w_last, w_valid_q;
  w_t w_q;

  assign w_open = order_in_q != order_out_q;

  always_comb begin
    aw_next = '0;
    aw_take = 1'b0;
    if (slot_aw_valid_i != '0 && (!aw_valid_q || aw_ready_i)) begin
      aw_next = next_slot(slot_aw_valid_i, aw_slot_q);
      aw_take = order_in_q - order_out_q != (IndexWidth + 1)'(MaxWrites);
    end
  end

  always_comb begin
    ar_next = '0;
    ar_take = 1'b0;
    if (slot_ar_valid_i != '0 && (!ar_valid_q || ar_ready_i)) begin
      ar_next = next_slot(slot_ar_valid_i, ar_slot_q);
      ar_take = 1'b1;
    end
  end

  always_comb begin
    w_slot = '0;
    w_take = 1'b0;
    w_last = 1'b0;
    if (w_open && (!w_valid_q || w_ready_i)) begin
      w_slot = order_q[order_out_q[IndexWidth-1:0]];
      w_take = slot_w_valid_i[w_slot];
      w_last = slot_w_i[w_slot].last;
    end
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      aw_valid_q <= 1'b0;
      ar_valid_q <= 1'b0;
      w_valid_q <= 1'b0;
      aw_slot_q <= '0;
      ar_slot_q <= '0;
      order_in_q <= '0;
      order_out_q <= '0;
      b_ready_o <= 1'b0;
      r_ready_o <= 1'b0;
    end else begin
      b_ready_o <= 1'b1;
      r_ready_o <= 1'b1;
      if (aw_take) begin
        aw_valid_q <= 1'b1;
        aw_slot_q <= aw_next;
        order_in_q <= order_in_q + (IndexWidth + 1)'(1);
      end else if (aw_ready_i) aw_valid_q <= 1'b0;
      if (ar_take) begin
        ar_valid_q <= 1'b1;
        ar_slot_q <= ar_next;
      end else if (ar_ready_i) ar_valid_q <= 1'b0;
      if (w_take) w_valid_q <= 1'b1;
      else if (w_ready_i) w_valid_q <= 1'b0;
      if (w_take && w_last) order_out_q <= order_out_q + (IndexWidth + 1)'(1);
    end
  end

  always_ff @(posedge clk_i) begin
    if (aw_take) begin
      aw_q <= slot_aw_i[aw_next];
      order_q[order_in_q[IndexWidth-1:0]] <= aw_next;
    end
    if (ar_take) ar_q <= slot_ar_i[ar_next];
    if (w_take) w_q <= slot_w_i[w_slot];
  end

  for (genvar i = 0; i < NumSlots; i++) begin : gen_answers
    assign slot_aw_ready_o[i] = aw_take && aw_next == slot_t'(i);
    assign slot_ar_ready_o[i] = ar_take && ar_next == slot_t'(i);
    assign slot_w_ready_o[i] = w_take && w_slot == slot_t'(i);
    assign slot_b_valid_o[i] = b_valid_i && b_ready_o && b_slot_i == 4'(i);
    assign slot_r_valid_o[i] = r_valid_i && r_ready_o && r_slot_i == 4'(i);
  end

  assign aw_o = aw_q;
  assign aw_slot_o = 4'(aw_slot_q);
  assign aw_valid_o = aw_valid_q;
  assign ar_o = ar_q;
  assign ar_slot_o = 4'(ar_slot_q);
  assign ar_valid_o = ar_valid_q;
  assign w_o = w_q;
  assign w_valid_o = w_valid_q;

`ifndef SYNTHESIS
  logic [7:0] waited_q [NumSlots];
  always_ff @(posedge clk_i) begin
    for (int i = 0; i < NumSlots; i++) begin
      if (!rst_ni || !slot_ar_valid_i[i]) waited_q[i] <= '0;
      else if (ar_take) waited_q[i] <= ar_next == slot_t'(i) ? '0 : waited_q[i] + 8'd1;
      ReadTurnComes_A :
      assert (!rst_ni || int'(waited_q[i]) < NumSlots)
      else $error("mem_xbar: a slot waited longer than a round");
    end
    if (rst_ni) begin
      AnswersForKnownSlots_A :
      assert ((!b_valid_i || int'(b_slot_i) < NumSlots) && (!r_valid_i || int'(r_slot_i) < NumSlots))
      else $error("mem_xbar: memory answered a slot that does not exist");
    end
  end
`endif

endmodule
