/// Length of the next burst: what is left, at most `MaxBurst` beats, and not across 4 KiB.
module hls_burst_length #(
  parameter int unsigned BeatsWidth = 24,
  parameter int unsigned MaxBurst = 16
) (
  /// Address of the burst in its 4 KiB page, in 64-bit words.
  input  logic [8:0]            page_offset_i,
  /// Words left.
  input  logic [BeatsWidth-1:0] left_i,
  output logic [8:0]            beats_o
);

  if (MaxBurst < 1 || MaxBurst > 256) begin : gen_check_burst
    $fatal(1, "hls_burst_length: MaxBurst must be from 1 to 256, the bounds of AXI4");
  end

  logic [9:0] to_page_end;
  assign to_page_end = 10'd512 - {1'b0, page_offset_i};

  always_comb begin
    beats_o = 9'(MaxBurst);
    if (to_page_end < 10'(MaxBurst)) beats_o = to_page_end[8:0];
    if (left_i < BeatsWidth'(beats_o)) beats_o = 9'(left_i);
  end

endmodule
