/// Registers of all warps: three reads of one warp and one write a cycle, every lane its own memory.
///
/// Reads are at the address registered at the last edge (`read_i`), so a memory block with an address register serves,
/// and a write is seen by reads of the next cycle. Row = {warp, register}.
module gpu_regfile #(
  parameter int unsigned Threads = 4,
  parameter int unsigned Rows = 256,
  /// Whether the third port exists (fused operations only).
  parameter bit ThirdPort = 1'b1,
  localparam int unsigned RowWidth = $clog2(Rows)
) (
  input  logic                clk_i,
  input  logic                read_i,
  input  logic [RowWidth-1:0] a_row_i,
  input  logic [RowWidth-1:0] b_row_i,
  input  logic [RowWidth-1:0] c_row_i,
  output logic [31:0]         a_o [Threads],
  output logic [31:0]         b_o [Threads],
  output logic [31:0]         c_o [Threads],
  input  logic                write_i,
  input  logic [RowWidth-1:0] row_i,
  input  logic [Threads-1:0]  mask_i,
  input  logic [31:0]         data_i [Threads]
);

  logic [RowWidth-1:0] a_row_q, b_row_q, c_row_q;

  always_ff @(posedge clk_i) begin
    if (read_i) begin
      a_row_q <= a_row_i;
      b_row_q <= b_row_i;
      c_row_q <= c_row_i;
    end
  end

  for (genvar t = 0; t < int'(Threads); t++) begin : gen_lane
    logic [31:0] ram [Rows];

    always_ff @(posedge clk_i) begin
      if (write_i && mask_i[t]) ram[row_i] <= data_i[t];
    end

    assign a_o[t] = ram[a_row_q];
    assign b_o[t] = ram[b_row_q];
    assign c_o[t] = ThirdPort ? ram[c_row_q] : '0;
  end

  if (!ThirdPort) begin : gen_unused
    logic unused;
    assign unused = ^c_row_q;
  end

endmodule
