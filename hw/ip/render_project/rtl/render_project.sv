// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
/// Projects triangles onto a plane of coordinates: the first task of 3D rendering.
///
/// Arguments: `triangles` (16 bytes each: x, y and z of three corners, shade, six reserved) and `flat`
/// (8 bytes each: x and y of three corners, depth, shade), 8-byte aligned; `count` (1 to 1024)
/// triangles and `view`: 0 looks along z, 1 along y, 2 along x. Two cycles a triangle.
module render_project #(
  /// Hash of sources and toolchain, read back from the identity block.
  parameter logic [63:0] BuildHash = '0
) (
  `include "slot_ports.svh"
);

  localparam int unsigned NumPointers = 2, NumScalars = 2, NumReads = 1, NumWrites = 1;
  `include "hls_run.svh"

  logic [31:0] count;
  assign count = scalars[0];

  assign legal = count != '0 && count <= 32'd1024 && scalars[1] <= 32'd2;
  assign read_addr[0]   = pointers[0][39:0];
  assign write_addr[0]  = pointers[1][39:0];
  assign read_beats[0]  = BeatsWidth'(count[10:0]) << 1;
  assign write_beats[0] = BeatsWidth'(count[10:0]);

  render_project_core u_core (
    .clk_i, .rst_ni, .clear_i(start), .view_i(scalars[1][1:0]),
    .in_valid_i(in_valid), .in_ready_o(in_ready), .in_data_i(in_data),
    .out_valid_o(out_valid), .out_ready_i(out_ready), .out_data_o(out_data)
  );

endmodule
