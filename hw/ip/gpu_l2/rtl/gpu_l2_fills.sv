/// The lines that are on their way from memory, one a reader at most.
///
/// A line that was written, or that a walk may have dropped, while it was on its way is passed on but not kept.
module gpu_l2_fills
  import eddy_pkg::*;
#(
  /// Ids that read.
  parameter int unsigned Readers = 2,
  parameter int unsigned LineWidth = 34,
  parameter int unsigned SetWidth = 1,
  localparam int unsigned ReaderWidth = (Readers > 1) ? $clog2(Readers) : 1
) (
  input  logic                    clk_i,
  /// Synchronous reset, active low.
  input  logic                    rst_ni,
  /// A read goes to memory.
  input  logic                    start_i,
  input  logic [ReaderWidth-1:0]  start_id_i,
  input  logic [LineWidth-1:0]    start_line_i,
  input  logic [ContextWidth-1:0] start_context_i,
  /// There is a way for it; without, it is passed on and not kept.
  input  logic                    start_keep_i,
  input  logic                    start_way_i,
  /// A beat from memory, and where it is kept.
  input  logic                    beat_i,
  input  logic [ReaderWidth-1:0]  beat_id_i,
  input  logic                    beat_last_i,
  input  logic                    beat_error_i,
  output logic                    beat_keep_o,
  output logic                    beat_way_o,
  output logic [SetWidth-1:0]     beat_set_o,
  output logic [2:0]              beat_number_o,
  /// A line that has come whole: to be kept if `install_good_o`, and forgotten here with `install_i`.
  output logic                    install_valid_o,
  output logic                    install_good_o,
  output logic                    install_way_o,
  output logic [LineWidth-1:0]    install_line_o,
  output logic [ContextWidth-1:0] install_context_o,
  input  logic                    install_i,
  /// This line is being written: what is on its way is not to be kept.
  input  logic                    spoil_i,
  input  logic [LineWidth-1:0]    spoil_line_i,
  /// No line that is on its way is to be kept.
  input  logic                    spoil_all_i,
  /// Whether a read may not start: its line, or one for its reader, is on its way.
  input  logic                    probe_i,
  input  logic [ReaderWidth-1:0]  probe_id_i,
  input  logic [LineWidth-1:0]    probe_line_i,
  output logic                    conflict_o,
  /// Ways of a set that wait for a line.
  input  logic [SetWidth-1:0]     set_i,
  output logic [1:0]              taken_o
);

  typedef logic [ReaderWidth-1:0] reader_t;

  logic [Readers-1:0] busy_q, whole_q, keep_q, way_q, good_q;
  logic [LineWidth-1:0] line_q [Readers];
  logic [ContextWidth-1:0] context_q [Readers];
  logic [2:0] beat_q [Readers];

  reader_t first;

  assign beat_keep_o = keep_q[beat_id_i];
  assign beat_way_o = way_q[beat_id_i];
  assign beat_set_o = line_q[beat_id_i][SetWidth-1:0];
  assign beat_number_o = beat_q[beat_id_i];
  assign install_valid_o = whole_q != '0;
  assign install_good_o = good_q[first] && keep_q[first];
  assign install_way_o = way_q[first];
  assign install_line_o = line_q[first];
  assign install_context_o = context_q[first];

  always_comb begin
    first = '0;
    for (int r = int'(Readers) - 1; r >= 0; r--) if (whole_q[r]) first = reader_t'(r);
  end

  always_comb begin
    conflict_o = 1'b0;
    if (probe_i) begin
      conflict_o = busy_q[probe_id_i];
      for (int r = 0; r < int'(Readers); r++) if (busy_q[r] && line_q[r] == probe_line_i) conflict_o = 1'b1;
    end
  end

  always_comb begin
    taken_o = '0;
    for (int r = 0; r < int'(Readers); r++) begin
      if (busy_q[r] && keep_q[r] && line_q[r][SetWidth-1:0] == set_i) taken_o[way_q[r]] = 1'b1;
    end
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      busy_q <= '0;
      whole_q <= '0;
      keep_q <= '0;
      way_q <= '0;
      good_q <= '0;
    end else begin
      if (start_i) begin
        busy_q[start_id_i] <= 1'b1;
        keep_q[start_id_i] <= start_keep_i;
        way_q[start_id_i] <= start_way_i;
        good_q[start_id_i] <= 1'b1;
        line_q[start_id_i] <= start_line_i;
        context_q[start_id_i] <= start_context_i;
        beat_q[start_id_i] <= '0;
      end
      if (beat_i) begin
        beat_q[beat_id_i] <= beat_q[beat_id_i] + 3'd1;
        if (beat_error_i) good_q[beat_id_i] <= 1'b0;
        if (beat_last_i) whole_q[beat_id_i] <= 1'b1;
      end
      if (install_i) begin
        busy_q[first] <= 1'b0;
        whole_q[first] <= 1'b0;
      end
      for (int r = 0; r < int'(Readers); r++) begin
        if (spoil_all_i || (spoil_i && line_q[r] == spoil_line_i)) good_q[r] <= 1'b0;
      end
    end
  end

`ifndef SYNTHESIS
  BeatsHaveAskers_A : assert property (@(posedge clk_i) disable iff (!rst_ni)
    beat_i |-> busy_q[beat_id_i] && !whole_q[beat_id_i]);
  OneAReader_A : assert property (@(posedge clk_i) disable iff (!rst_ni) start_i |-> !busy_q[start_id_i]);
  WholeLines_A : assert property (@(posedge clk_i) disable iff (!rst_ni)
    beat_i |-> beat_last_i == (beat_q[beat_id_i] == 3'd7));
`endif

endmodule
