// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
/// level_shift, dct, quantize in one module.
///
/// Words stream from stage to stage, and what lies between never is in memory.
/// Written by `eddy module fuse`. Arguments are those of the stages, each once.
module image_front #(
  /// Hash of sources and toolchain, read back from the identity block.
  parameter logic [63:0] BuildHash = '0
) (
  `include "slot_ports.svh"
);

  localparam int unsigned NumPointers = 2, NumScalars = 3, NumReads = 1, NumWrites = 1;
  `include "hls_run.svh"

  logic [31:0] width, height, quality, blocks;
  assign width = scalars[0];
  assign height = scalars[1];
  assign quality = scalars[2];
  assign blocks = 32'(width[9:3]) * 32'(height[11:3]);
  logic [BeatsWidth-1:0] words;
  assign words = BeatsWidth'(width[9:3]) * BeatsWidth'(height[11:0]);
  logic [5:0] last_column;
  assign last_column = 6'(width[9:3] - 7'd1);
  logic [1:0] quality_index;
  assign quality_index = quant_pkg::quality_index(quality);

  assign legal =
    (width != '0 && width <= 32'd512 && width[2:0] == '0 && height != '0 && height <= 32'd2048 && height[2:0] == '0) &&
    (blocks != '0 && blocks <= 32'd65536) &&
    (quality_index != 2'd3 && blocks != '0 && blocks <= 32'd65536);
  assign read_addr[0]   = pointers[0][39:0];
  assign write_addr[0]  = pointers[1][39:0];
  assign read_beats[0]  = BeatsWidth'(words);
  assign write_beats[0] = BeatsWidth'({blocks[19:0], 4'd0});

  // Between core i-1 and core i; 4 cores.
  logic [4:0] valid, ready;
  logic [4:0][63:0] data;
  assign valid[0]  = in_valid;
  assign data[0]   = in_data;
  assign in_ready  = ready[0];
  assign out_valid = valid[4];
  assign out_data  = data[4];
  assign ready[4] = out_ready;

  image_blocks_reorder #(.ToRaster(1'b0), .MaxColumns(64)) u_core_0 (
    .clk_i, .rst_ni, .clear_i(start), .last_column_i(last_column),
    .in_valid_i(valid[0]), .in_ready_o(ready[0]), .in_data_i(data[0]),
    .out_valid_o(valid[1]), .out_ready_i(ready[1]), .out_data_o(data[1])
  );

  image_blocks_level u_core_1 (
    .clk_i, .rst_ni, .clear_i(start),
    .in_valid_i(valid[1]), .in_ready_o(ready[1]), .in_data_i(data[1]),
    .out_valid_o(valid[2]), .out_ready_i(ready[2]), .out_data_o(data[2])
  );

  dct8_core #(.Inverse(1'b0)) u_core_2 (
    .clk_i, .rst_ni, .clear_i(start),
    .in_valid_i(valid[2]), .in_ready_o(ready[2]), .in_data_i(data[2]),
    .out_valid_o(valid[3]), .out_ready_i(ready[3]), .out_data_o(data[3])
  );

  quant_core #(.Restore(1'b0)) u_core_3 (
    .clk_i, .rst_ni, .clear_i(start), .quality_i(quality_index),
    .in_valid_i(valid[3]), .in_ready_o(ready[3]), .in_data_i(data[3]),
    .out_valid_o(valid[4]), .out_ready_i(ready[4]), .out_data_o(data[4])
  );

endmodule
