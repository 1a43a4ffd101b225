// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
/// Splits an 8-bit image into 8x8 blocks of 16-bit samples less 128: the first task of image compression.
///
/// Arguments: `in` and `out` (8-byte aligned), `width` (8 to 512) and `height` (8 to 2048), multiples
/// of 8. 16 cycles a block, the first stripe apart, and about 80 for a run.
module level_shift #(
  /// Hash of sources and toolchain, read back from the identity block.
  parameter logic [63:0] BuildHash = '0
) (
  `include "slot_ports.svh"
);

  localparam int unsigned NumPointers = 2, NumScalars = 2, NumReads = 1, NumWrites = 1;
  `include "hls_run.svh"

  localparam int unsigned MaxWidth = 512;
  localparam int unsigned MaxHeight = 2048;
  localparam int unsigned ColumnWidth = $clog2(MaxWidth / 8);

  logic [31:0] width, height;
  logic [BeatsWidth-1:0] words;
  assign width  = scalars[0];
  assign height = scalars[1];
  // Eight pixels to a word.
  assign words  = BeatsWidth'(width[9:3]) * BeatsWidth'(height[11:0]);

  assign legal = width != '0 && width <= MaxWidth && width[2:0] == '0 &&
                 height != '0 && height <= MaxHeight && height[2:0] == '0;
  assign read_addr[0]  = pointers[0][39:0];
  assign write_addr[0] = pointers[1][39:0];
  assign read_beats[0]  = words;
  // Samples take twice the room of pixels.
  assign write_beats[0] = {words[BeatsWidth-2:0], 1'b0};

  logic mid_valid, mid_ready;
  logic [63:0] mid_data;

  image_blocks_reorder #(.ToRaster(1'b0), .MaxColumns(MaxWidth / 8)) u_reorder (
    .clk_i, .rst_ni, .clear_i(start), .last_column_i(ColumnWidth'(width[9:3] - 7'd1)),
    .in_valid_i(in_valid), .in_ready_o(in_ready), .in_data_i(in_data),
    .out_valid_o(mid_valid), .out_ready_i(mid_ready), .out_data_o(mid_data)
  );

  image_blocks_level u_level (
    .clk_i, .rst_ni, .clear_i(start),
    .in_valid_i(mid_valid), .in_ready_o(mid_ready), .in_data_i(mid_data),
    .out_valid_o(out_valid), .out_ready_i(out_ready), .out_data_o(out_data)
  );

endmodule
