/// What a data cache keeps, and local memory: two ways of rows, and the rows of local memory by their place in a line.
///
/// A read is of the row at `row_i` and combinational; so a memory block with an address register serves where `row_i` comes
/// from one. One write a cycle into the ways: a beat of a line that comes, or a store's row.
module gpu_dcache_rows
  import gpu_pkg::*;
#(
  /// Bytes of a row, a power of two from 8 to a line.
  parameter int unsigned RowBytes = 16,
  /// Rows of a way, a power of two.
  parameter int unsigned Rows = 256,
  parameter int unsigned LocalLines = 256,
  localparam int unsigned RowBits = 8 * RowBytes,
  localparam int unsigned RowWidth = 32 - $clog2(RowBytes),
  localparam int unsigned LocalWidth = (LocalLines > 1) ? $clog2(LocalLines) : 1
) (
  input  logic                     clk_i,
  input  logic [RowWidth-1:0]      row_i,
  /// Which copy: local memory's, way 0's or way 1's.
  input  logic                     read_i,
  input  logic                     local_i,
  input  logic                     way_i,
  output logic [RowBits-1:0]       data_o,
  /// Write the row that is read.
  input  logic                     store_i,
  input  logic [RowBits-1:0]       store_data_i,
  /// Bits that are stored; the others of the datum are zero.
  input  logic [RowBits-1:0]       store_mask_i,
  /// A beat; no store to a way in the same cycle.
  input  logic                     fill_i,
  input  logic                     fill_way_i,
  input  logic [LineAddrWidth-1:0] fill_line_i,
  input  logic [2:0]               fill_beat_i,
  input  logic [63:0]              fill_data_i,
  /// Zero a line of local memory.
  input  logic                     clear_i,
  input  logic [LocalWidth-1:0]    clear_line_i
);

  localparam int unsigned RowBeats = RowBytes / 8;
  localparam int unsigned LineRows = LineBytes / RowBytes;
  localparam int unsigned IndexWidth = (Rows > 1) ? $clog2(Rows) : 1;
  localparam int unsigned PartWidth = (LineRows > 1) ? $clog2(LineRows) : 1;
  localparam int unsigned BankWidth = (RowBeats > 1) ? $clog2(RowBeats) : 1;

  typedef logic [IndexWidth-1:0] index_t;
  typedef logic [PartWidth-1:0] part_t;

  index_t index, fill_index;
  part_t part;
  logic [LocalWidth-1:0] local_line;
  logic [BankWidth-1:0] fill_bank;
  logic [RowWidth-1:0] fill_row;
  logic [RowBits-1:0] way_row, store;
  logic [LineRows-1:0][RowBits-1:0] local_rows;

  // Of addresses only the bits that a memory of this size looks at.
  logic unused;
  assign unused = ^{row_i, fill_row};

  assign index = (Rows > 1) ? row_i[IndexWidth-1:0] : '0;
  assign part = (LineRows > 1) ? row_i[PartWidth-1:0] : '0;
  assign local_line = (LocalLines > 1) ? LocalWidth'(row_i >> $clog2(LineRows)) : '0;
  assign fill_row = RowWidth'({fill_line_i, fill_beat_i} >> $clog2(RowBeats));
  assign fill_index = (Rows > 1) ? fill_row[IndexWidth-1:0] : '0;
  assign fill_bank = (RowBeats > 1) ? fill_beat_i[BankWidth-1:0] : '0;

  always_comb begin
    data_o = '0;
    if (read_i) data_o = local_i ? local_rows[part] : way_row;
  end

  always_comb begin
    store = '0;
    if (store_i) store = (data_o & ~store_mask_i) | store_data_i;
  end

  for (genvar b = 0; b < int'(RowBeats); b++) begin : gen_bank
    logic [63:0] way0_ram [Rows];
    logic [63:0] way1_ram [Rows];
    logic write0, write1;
    index_t write_index;
    logic [63:0] write_data;

    always_comb begin
      way_row[64*b+:64] = '0;
      if (read_i && !local_i) way_row[64*b+:64] = way_i ? way1_ram[index] : way0_ram[index];
    end
    assign write_index = fill_i ? fill_index : index;
    assign write_data = fill_i ? fill_data_i : store[64*b+:64];
    assign write0 = fill_i ? !fill_way_i && fill_bank == BankWidth'(b) : store_i && !local_i && !way_i;
    assign write1 = fill_i ? fill_way_i && fill_bank == BankWidth'(b) : store_i && !local_i && way_i;

    always_ff @(posedge clk_i) begin
      if (write0) way0_ram[write_index] <= write_data;
      if (write1) way1_ram[write_index] <= write_data;
    end
  end

  for (genvar r = 0; r < int'(LineRows); r++) begin : gen_local
    logic [RowBits-1:0] ram [LocalLines];

    always_comb begin
      local_rows[r] = '0;
      if (read_i && local_i) local_rows[r] = ram[local_line];
    end

    always_ff @(posedge clk_i) begin
      if (clear_i || (store_i && local_i && part == part_t'(r))) ram[clear_i ? clear_line_i : local_line] <= store;
    end
  end

`ifndef SYNTHESIS
  OneWrite_A : assert property (@(posedge clk_i) fill_i |-> !(store_i && !local_i));
  StoresRead_A : assert property (@(posedge clk_i) store_i |-> read_i && !clear_i);
`endif

endmodule
