// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
/// Derivative along time, joined to those along x and y: the third task of optical flow.
///
/// Arguments: `frames` (from `flow_read_input`), `gradient_xy` (from `flow_gradient_xy`) and `gradient` (four
/// 16-bit values a pixel: x, y, z, 0, with 3 fraction bits), 8-byte aligned; `width` and `height` of the
/// frame, multiples of 8 from 8 to 128. Thirteen cycles for eight pixels.
module flow_gradient_z #(
  /// Hash of sources and toolchain, read back from the identity block.
  parameter logic [63:0] BuildHash = '0
) (
  `include "slot_ports.svh"
);

  import flow_pkg::*;

  localparam int unsigned NumPointers = 3, NumScalars = 2, NumReads = 2, NumWrites = 1;
  `include "hls_run.svh"

  logic [SideWidth-1:0] width, height;
  logic [BeatsWidth-1:0] groups;
  assign width  = scalars[0][SideWidth-1:0];
  assign height = scalars[1][SideWidth-1:0];
  // Eight pixels of a row.
  assign groups = BeatsWidth'(area(width, height) >> 3);

  assign legal = side_legal(scalars[0]) && side_legal(scalars[1]);
  assign read_addr      = {pointers[1][39:0], pointers[0][39:0]};
  assign read_beats     = {groups << 2, groups * BeatsWidth'(5)};
  assign write_addr[0]  = pointers[2][39:0];
  assign write_beats[0] = groups << 3;

  flow_gradient_z_core u_core (
    .clk_i, .rst_ni, .clear_i(start), .groups_i(groups[AreaWidth-4:0]),
    .in_valid_i(in_valid), .in_ready_o(in_ready), .in_data_i(in_data),
    .out_valid_o(out_valid), .out_ready_i(out_ready), .out_data_o(out_data)
  );

endmodule
