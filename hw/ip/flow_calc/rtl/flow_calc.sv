// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
/// Solves for the motion of every pixel: the ninth task of optical flow.
///
/// Arguments: `tensor` (six 32-bit values a pixel: xx, yy, zz, xy, xz, yz) and `flow` (two 16-bit values a
/// pixel: pixels a frame along x and y, with 10 fraction bits), 8-byte aligned; `width` and `height` of the
/// frame, multiples of 8 from 8 to 128. Three cycles a pixel.
module flow_calc #(
  /// Hash of sources and toolchain, read back from the identity block.
  parameter logic [63:0] BuildHash = '0
) (
  `include "slot_ports.svh"
);

  import flow_pkg::*;

  localparam int unsigned NumPointers = 2, NumScalars = 2, NumReads = 1, NumWrites = 1;
  `include "hls_run.svh"

  logic [SideWidth-1:0] width, height;
  logic [BeatsWidth-1:0] pixels;
  assign width  = scalars[0][SideWidth-1:0];
  assign height = scalars[1][SideWidth-1:0];
  assign pixels = BeatsWidth'(area(width, height));

  assign legal = side_legal(scalars[0]) && side_legal(scalars[1]);
  assign read_addr[0]   = pointers[0][39:0];
  assign write_addr[0]  = pointers[1][39:0];
  assign read_beats[0]  = pixels * BeatsWidth'(3);
  assign write_beats[0] = pixels >> 1;

  flow_calc_core u_core (
    .clk_i, .rst_ni, .clear_i(start), .pixels_i(pixels[AreaWidth-1:0]),
    .in_valid_i(in_valid), .in_ready_o(in_ready), .in_data_i(in_data),
    .out_valid_o(out_valid), .out_ready_i(out_ready), .out_data_o(out_data)
  );

endmodule
