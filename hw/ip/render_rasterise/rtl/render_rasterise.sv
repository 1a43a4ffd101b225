// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
/// Finds the pixels that triangles cover, row by row: the second task of 3D rendering.
///
/// Arguments: `flat` (from `render_project`) and `spans` (first and last pixel of every row for every
/// triangle, a byte each; 255 and 0 where nothing is covered), 8-byte aligned; `count` (1 to 1024)
/// triangles, `width` and `height` of the frame, multiples of 8 from 8 to 128. Eight cycles a
/// triangle, five for four rows, and one more for every further eight pixels that a row's bounds touch.
module render_rasterise #(
  /// Hash of sources and toolchain, read back from the identity block.
  parameter logic [63:0] BuildHash = '0
) (
  `include "slot_ports.svh"
);

  localparam int unsigned NumPointers = 2, NumScalars = 3, NumReads = 1, NumWrites = 1;
  `include "hls_run.svh"

  logic [31:0] count, width, height;
  assign count  = scalars[0];
  assign width  = scalars[1];
  assign height = scalars[2];

  // Spans of four rows to a word, eight pixels to a word.
  logic frame_legal;
  assign frame_legal = width != '0 && width <= 32'd128 && width[2:0] == '0 &&
                       height != '0 && height <= 32'd128 && height[2:0] == '0;

  assign legal = count != '0 && count <= 32'd1024 && frame_legal;
  assign read_addr[0]   = pointers[0][39:0];
  assign write_addr[0]  = pointers[1][39:0];
  assign read_beats[0]  = BeatsWidth'(count[10:0]);
  assign write_beats[0] = BeatsWidth'(count[10:0]) * BeatsWidth'(height[7:2]);

  render_rasterise_core u_core (
    .clk_i, .rst_ni, .clear_i(start), .width_i(width[7:0]), .height_i(height[7:0]),
    .in_valid_i(in_valid), .in_ready_o(in_ready), .in_data_i(in_data),
    .out_valid_o(out_valid), .out_ready_i(out_ready), .out_data_o(out_data)
  );

endmodule
