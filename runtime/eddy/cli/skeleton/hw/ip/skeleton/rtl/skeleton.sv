// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
/// Adds a number to every 64-bit word of a buffer.
///
/// Arguments: `in` and `out` (8-byte aligned), `words` (1 to 65536), `addend`.
module skeleton #(
  /// Hash of sources and toolchain, read back from the identity block.
  parameter logic [63:0] BuildHash = '0
) (
  `include "slot_ports.svh"
);

  localparam int unsigned NumPointers = 2, NumScalars = 2, NumReads = 1, NumWrites = 1;
  `include "hls_run.svh"

  // Words of 64 bits.
  localparam logic [31:0] MaxWords = 32'd65536;

  assign legal = scalars[0] != '0 && scalars[0] <= MaxWords;
  assign read_addr[0]   = pointers[0][39:0];
  assign write_addr[0]  = pointers[1][39:0];
  assign read_beats[0]  = scalars[0][BeatsWidth-1:0];
  assign write_beats[0] = scalars[0][BeatsWidth-1:0];

  skeleton_core u_core (
    .clk_i, .rst_ni, .clear_i(start), .addend_i(scalars[1]),
    .in_valid_i(in_valid), .in_ready_o(in_ready), .in_data_i(in_data),
    .out_valid_o(out_valid), .out_ready_i(out_ready), .out_data_o(out_data)
  );

endmodule
