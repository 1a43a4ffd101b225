// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
/// A convolution layer of 8-bit integers, or a slice of its output channels: convolve, add a bias, shift, ReLU, pool 2x2.
///
/// Arguments: `map` (activations), `weights` (biases and weights of all the layer's groups), `out` (all the layer's
/// groups), 8-byte aligned, laid out as `conv_pool_core` says; `channels`, `height`, `width` of the map; `kernel`,
/// `stride`, `padding`; `rows` and `columns` of the output; `first` and `groups`: which groups of eight output channels;
/// `shift`, `relu`, `pool`: of the result.
module conv_pool #(
  /// Hash of sources and toolchain, read back from the identity block.
  parameter logic [63:0] BuildHash = '0
) (
  `include "slot_ports.svh"
);

  localparam int unsigned NumPointers = 3, NumScalars = 13, NumReads = 2, NumWrites = 1;
  `include "hls_run.svh"

  localparam int unsigned MapWords = 4096;
  localparam int unsigned MaxTaps = 1024;

  logic [31:0] channels, height, width, kernel, stride, padding, rows, columns, first, groups, shift, relu, pool;
  assign {pool, relu, shift, groups, first, columns, rows, padding, stride, kernel, width, height, channels} = scalars;

  /// A table rather than a multiplier: one level of logic.
  function automatic logic [7:0] square(logic [3:0] side);
    square = '0;
    for (int k = 0; k < 16; k++) if (side == 4'(k)) square = 8'(k * k);
  endfunction

  // Products of numbers that were checked to be small.
  logic few, whole_words;
  logic [5:0] units;
  logic [15:0] pixels, plane_words;
  logic [20:0] map_units;
  logic [17:0] map_words;
  logic [15:0] taps;
  logic [BeatsWidth-1:0] group_beats;
  assign pixels      = 16'(height[7:0]) * 16'(width[7:0]);
  // Channels come by eights, a word each, or are less: then a map's bytes are counted, which make whole words.
  assign few         = channels < 32'd8;
  assign units       = few ? {3'd0, channels[2:0]} : channels[8:3];
  assign map_units   = 21'(pixels) * 21'(units);
  assign map_words   = few ? map_units[20:3] : map_units[17:0];
  assign taps        = 16'(square(kernel[3:0])) * 16'(channels[8:0]);
  assign whole_words = 3'(height[2:0] * width[2:0] * channels[2:0]) == '0;
  assign group_beats = BeatsWidth'(taps) + BeatsWidth'(4);
  assign plane_words = 16'(rows[7:0]) * 16'(columns[7:0]);

  // Where a product is only checked, its other factor says how large one may be: a table, beside the product that is needed.
  /// How many pixels a map may have with so many channels: bytes where they are few, eights where not.
  function automatic logic [15:0] most_pixels(logic bytes, logic [5:0] each);
    most_pixels = '0;
    for (int k = 1; k <= 32; k++) begin
      if (each == 6'(k)) most_pixels = bytes ? 16'(8 * MapWords / k) : 16'(MapWords / k);
    end
  endfunction

  /// How many channels a kernel with such a side may have.
  function automatic logic [10:0] most_channels(logic [3:0] side);
    most_channels = '0;
    for (int k = 1; k < 16; k++) if (side == 4'(k)) most_channels = 11'(MaxTaps / (k * k));
  endfunction

  // The last kernel ends within the padded map.
  function automatic logic fits(logic [7:0] outputs, logic [7:0] size);
    logic [8:0] last;
    last = (pool[0] ? {outputs, 1'b0} : {1'b0, outputs}) - 9'd1;
    return 12'(last) * 12'(stride[2:0]) + 12'(kernel[3:0]) <= 12'(size) + 12'({padding[2:0], 1'b0});
  endfunction

  logic map_legal, kernel_legal, slice_legal, fit;
  assign map_legal = height != '0 && height <= 32'd128 && width != '0 && width <= 32'd128 && channels != '0 &&
                     (few ? whole_words : channels <= 32'd256 && channels[2:0] == '0) &&
                     pixels <= most_pixels(few, units);
  assign kernel_legal = kernel != '0 && kernel <= 32'd11 && stride != '0 && stride <= 32'd4 && padding < kernel &&
                        padding <= 32'd5 && channels <= 32'(most_channels(kernel[3:0]));
  assign slice_legal = rows != '0 && rows <= 32'd128 && columns != '0 && columns <= 32'd128 && first <= 32'd31 &&
                       groups != '0 && groups <= 32'd32 && shift <= 32'd24 && relu <= 32'd1 && pool <= 32'd1;
  assign fit   = fits(rows[7:0], height[7:0]) && fits(columns[7:0], width[7:0]);
  assign legal = map_legal && kernel_legal && slice_legal && fit;

  assign read_addr[0]   = pointers[0][39:0];
  assign read_beats[0]  = BeatsWidth'(map_words);
  assign read_addr[1]   = pointers[1][39:0] + {13'd0, group_beats * BeatsWidth'(first[4:0]), 3'd0};
  assign read_beats[1]  = group_beats * BeatsWidth'(groups[5:0]);
  assign write_addr[0]  = pointers[2][39:0] + {13'd0, BeatsWidth'(plane_words) * BeatsWidth'(first[4:0]), 3'd0};
  assign write_beats[0] = BeatsWidth'(plane_words) * BeatsWidth'(groups[5:0]);

  conv_pool_core #(.MapWords(MapWords), .MaxTaps(MaxTaps)) u_core (
    .clk_i, .rst_ni, .clear_i(start),
    .channels_i(channels[8:0]), .height_i(height[7:0]), .width_i(width[7:0]),
    .kernel_i(kernel[3:0]), .stride_i(stride[2:0]), .padding_i(padding[2:0]),
    .rows_i(rows[7:0]), .columns_i(columns[7:0]), .groups_i(groups[5:0]),
    .shift_i(shift[4:0]), .relu_i(relu[0]), .pool_i(pool[0]),
    .map_words_i(map_words[$clog2(MapWords):0]), .taps_i(taps[$clog2(MaxTaps):0]),
    .in_valid_i(in_valid), .in_ready_o(in_ready), .in_data_i(in_data),
    .out_valid_o(out_valid), .out_ready_i(out_ready), .out_data_o(out_data)
  );

endmodule
