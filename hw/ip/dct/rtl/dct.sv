// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
/// 8x8 DCT of 16-bit blocks: the second task of image compression.
///
/// Arguments: `in` and `out` (8-byte aligned), `blocks` (1 to 65536). 16 cycles a block and about 80
/// for a run, where memory keeps up. Numbers are `dct8_core`'s.
module dct #(
  /// Hash of sources and toolchain, read back from the identity block.
  parameter logic [63:0] BuildHash = '0
) (
  `include "slot_ports.svh"
);

  localparam int unsigned NumPointers = 2, NumScalars = 1, NumReads = 1, NumWrites = 1;
  `include "hls_run.svh"

  // A block is 64 samples of 16 bits: 16 words, in and out.
  localparam logic [31:0] MaxBlocks = 32'd65536;

  assign legal = scalars[0] != '0 && scalars[0] <= MaxBlocks;
  assign read_addr[0]   = pointers[0][39:0];
  assign write_addr[0]  = pointers[1][39:0];
  assign read_beats[0]  = {scalars[0][19:0], 4'd0};
  assign write_beats[0] = {scalars[0][19:0], 4'd0};

  dct8_core #(.Inverse(1'b0)) u_core (
    .clk_i, .rst_ni, .clear_i(start),
    .in_valid_i(in_valid), .in_ready_o(in_ready), .in_data_i(in_data),
    .out_valid_o(out_valid), .out_ready_i(out_ready), .out_data_o(out_data)
  );

endmodule
