// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
/// Quantizes 16-bit DCT coefficients: the third task of image compression.
///
/// Arguments: `in` and `out` (8-byte aligned), `blocks` (1 to 65536), `quality` (50, 75 or 90). 16
/// cycles a block and about 40 for a run, where memory keeps up.
module quantize #(
  /// Hash of sources and toolchain, read back from the identity block.
  parameter logic [63:0] BuildHash = '0
) (
  `include "slot_ports.svh"
);

  localparam int unsigned NumPointers = 2, NumScalars = 2, NumReads = 1, NumWrites = 1;
  `include "hls_run.svh"

  // A block is 64 samples of 16 bits: 16 words, in and out.
  localparam logic [31:0] MaxBlocks = 32'd65536;

  // The step table, by quality.
  logic [1:0] quality;
  assign quality = quant_pkg::quality_index(scalars[1]);

  assign legal = quality != 2'd3 && scalars[0] != '0 && scalars[0] <= MaxBlocks;
  assign read_addr[0]   = pointers[0][39:0];
  assign write_addr[0]  = pointers[1][39:0];
  assign read_beats[0]  = {scalars[0][19:0], 4'd0};
  assign write_beats[0] = {scalars[0][19:0], 4'd0};

  quant_core #(.Restore(1'b0)) u_core (
    .clk_i, .rst_ni, .clear_i(start), .quality_i(quality),
    .in_valid_i(in_valid), .in_ready_o(in_ready), .in_data_i(in_data),
    .out_valid_o(out_valid), .out_ready_i(out_ready), .out_data_o(out_data)
  );

endmodule
