// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
/// Smooths the derivatives with seven taps along y or along x: the fourth and fifth task of optical flow.
///
/// Arguments: `in` and `out` (four 16-bit values a pixel: x, y, z, reserved), 8-byte aligned; `width` and
/// `height` of the frame, multiples of 8 from 8 to 128; `direction` 0 along y, 1 along x. Weights in
/// 1/1024; zero where a tap lies outside. One cycle a pixel, and three rows or pixels of latency.
module flow_gradient_weight #(
  /// Hash of sources and toolchain, read back from the identity block.
  parameter logic [63:0] BuildHash = '0
) (
  `include "slot_ports.svh"
);

  import flow_pkg::*;

  localparam int unsigned NumPointers = 2, NumScalars = 3, NumReads = 1, NumWrites = 1;
  `include "hls_run.svh"

  logic [SideWidth-1:0] width, height;
  logic [BeatsWidth-1:0] pixels;
  assign width  = scalars[0][SideWidth-1:0];
  assign height = scalars[1][SideWidth-1:0];
  assign pixels = BeatsWidth'(area(width, height));

  assign legal = side_legal(scalars[0]) && side_legal(scalars[1]) && scalars[2] <= 32'd1;
  assign read_addr[0]   = pointers[0][39:0];
  assign write_addr[0]  = pointers[1][39:0];
  assign read_beats[0]  = pixels;
  assign write_beats[0] = pixels;

  flow_window #(
    .Taps(7), .Weights({10'd297, 10'd191, 10'd136, 10'd77}), .LaneWidth(16), .Lanes(3), .PixelWords(1)
  ) u_window (
    .clk_i, .rst_ni, .clear_i(start), .along_x_i(scalars[2][0]), .width_i(width), .height_i(height),
    .in_valid_i(in_valid), .in_ready_o(in_ready), .in_data_i(in_data),
    .out_valid_o(out_valid), .out_ready_i(out_ready), .out_data_o(out_data)
  );

endmodule
