// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
/// One convolution layer: a map of activations is kept, then eight output channels at a time are computed from it.
///
/// In: the map's words; then for each group of eight output channels four words of biases and one word of eight weights
/// for each tap. Out: a word of eight channels for each pixel, row by row, group by group. One tap a cycle, 7 cycles
/// a convolved pixel and one a word out beside. Pixels beyond the map's edge count as zero.
///
/// The map: `channels_i` bytes a pixel, row by row, where there are fewer than eight channels; else one such plane of
/// eight bytes a pixel for every eight channels. Taps run through planes, kernel rows, kernel columns, channels.
module conv_pool_core #(
  /// Words of eight activations a map may have, a power of two.
  parameter int unsigned MapWords = 4096,
  /// Taps a kernel may have, a power of two.
  parameter int unsigned MaxTaps = 1024
) (
  input  logic clk_i,
  input  logic rst_ni,
  input  logic clear_i,

  // All stable while a run lasts.
  /// 1 to 7, or a multiple of 8.
  input  logic [8:0] channels_i,
  input  logic [7:0] height_i,
  input  logic [7:0] width_i,
  input  logic [3:0] kernel_i,
  input  logic [2:0] stride_i,
  input  logic [2:0] padding_i,
  /// Of the output, after pooling.
  input  logic [7:0] rows_i,
  input  logic [7:0] columns_i,
  input  logic [5:0] groups_i,
  input  logic [4:0] shift_i,
  input  logic       relu_i,
  input  logic       pool_i,
  /// Words of the map and taps of a kernel, as the arguments above make them.
  input  logic [$clog2(MapWords):0] map_words_i,
  input  logic [$clog2(MaxTaps):0]  taps_i,

  input  logic        in_valid_i,
  output logic        in_ready_o,
  input  logic [63:0] in_data_i,
  output logic        out_valid_o,
  input  logic        out_ready_i,
  output logic [63:0] out_data_o
);

  localparam int unsigned WordWidth = $clog2(MapWords);
  localparam int unsigned TapWidth  = $clog2(MaxTaps);
  /// Addresses of bytes in the map. They wrap, so that one beyond an edge may be stepped through; it is not used.
  typedef logic [WordWidth+2:0] byte_addr_t;
  typedef logic signed [9:0] place_t;
  /// Cycles between the last step and the cycle of the result.
  localparam logic [2:0] DrainCycles = 3'd3;

  typedef enum logic [3:0] {
    StMap, StBias, StWeights, StPixel, StBase, StScale, StTaps, StDrain, StMerge, StEmit
  } state_e;
  state_e state_q;

  logic [63:0] map_q [MapWords];
  logic [63:0] weights_q [MaxTaps];
  logic [63:0] map_word_q, weight_word_q;

  // The last of the map, and of a channel's taps. They are products of arguments, which stay as they are from the cycle of
  // `clear_i` on, and words come later.
  logic [WordWidth:0] map_last_q;
  logic [TapWidth:0] taps_last_q;
  always_ff @(posedge clk_i) begin
    map_last_q  <= map_words_i - 1'b1;
    taps_last_q <= taps_i - 1'b1;
  end

  logic [WordWidth:0] count_q;
  logic [2:0] drain_q;
  logic [5:0] group_q;
  logic [7:0] row_q, column_q;
  /// Which of the four pixels under a pooled one: {down, right}.
  logic [1:0] quad_q;
  logic take;

  assign in_ready_o = state_q inside {StMap, StBias, StWeights};
  assign take = in_valid_i && in_ready_o;

  // Where the kernel lies: its first pixel, and the address of each level of the walk through its taps.
  place_t top_q, left_q;
  byte_addr_t base_q, plane_at_q, row_at_q, at_q, row_bytes, plane_bytes;
  logic [8:0] conv_row, conv_column;
  logic [3:0] pixel_bytes, byte_q, kernel_x_q, kernel_y_q;
  logic [5:0] plane_q, planes;
  logic [TapWidth-1:0] tap_q;
  logic byte_last, column_last, line_last, taps_last, on_map;
  place_t x, y;

  assign conv_row    = pool_i ? {row_q, quad_q[1]} : {1'b0, row_q};
  assign conv_column = pool_i ? {column_q, quad_q[0]} : {1'b0, column_q};
  assign planes      = channels_i < 9'd8 ? 6'd1 : channels_i[8:3];
  assign pixel_bytes = channels_i < 9'd8 ? channels_i[3:0] : 4'd8;
  assign row_bytes   = byte_addr_t'(width_i) * byte_addr_t'(pixel_bytes);
  assign plane_bytes = (byte_addr_t'(height_i) * byte_addr_t'(width_i)) << 3;

  assign x = left_q + place_t'({1'b0, kernel_x_q});
  assign y = top_q + place_t'({1'b0, kernel_y_q});
  assign on_map = x >= 0 && y >= 0 && x < place_t'({1'b0, width_i}) && y < place_t'({1'b0, height_i});
  assign byte_last   = byte_q == pixel_bytes - 4'd1;
  assign column_last = byte_last && kernel_x_q == kernel_i - 4'd1;
  assign line_last   = column_last && kernel_y_q == kernel_i - 4'd1;
  assign taps_last   = line_last && plane_q == planes - 6'd1;

  always_ff @(posedge clk_i) begin
    unique case (state_q)
      StPixel: begin
        top_q  <= place_t'({1'b0, conv_row}) * place_t'({1'b0, stride_i}) - place_t'({1'b0, padding_i});
        left_q <= place_t'({1'b0, conv_column}) * place_t'({1'b0, stride_i}) - place_t'({1'b0, padding_i});
      end
      StBase: base_q <= byte_addr_t'(top_q) * byte_addr_t'(width_i) + byte_addr_t'(left_q);
      StScale: begin
        plane_at_q <= base_q * byte_addr_t'(pixel_bytes);
        row_at_q   <= base_q * byte_addr_t'(pixel_bytes);
        at_q       <= base_q * byte_addr_t'(pixel_bytes);
        byte_q     <= '0;
        kernel_x_q <= '0;
        kernel_y_q <= '0;
        plane_q    <= '0;
        tap_q      <= '0;
      end
      StTaps: begin
        tap_q  <= tap_q + 1'b1;
        at_q   <= at_q + byte_addr_t'(1);
        byte_q <= byte_last ? '0 : byte_q + 1'b1;
        if (byte_last) kernel_x_q <= column_last ? '0 : kernel_x_q + 1'b1;
        if (column_last) begin
          kernel_y_q <= line_last ? '0 : kernel_y_q + 1'b1;
          row_at_q   <= row_at_q + row_bytes;
          at_q       <= row_at_q + row_bytes;
        end
        if (line_last) begin
          plane_q    <= plane_q + 1'b1;
          plane_at_q <= plane_at_q + plane_bytes;
          row_at_q   <= plane_at_q + plane_bytes;
          at_q       <= plane_at_q + plane_bytes;
        end
      end
      default: ;
    endcase
  end

  // Memories, and the tap on its way from them to the lanes.
  logic step_q, on_map_q;
  logic [2:0] lane_q;
  logic [7:0] value;
  logic [7:0][7:0] result, merged, best_q;

  always_ff @(posedge clk_i) begin
    if (take && state_q == StMap) map_q[count_q[WordWidth-1:0]] <= in_data_i;
    map_word_q <= map_q[at_q[WordWidth+2:3]];
  end
  always_ff @(posedge clk_i) begin
    if (take && state_q == StWeights) weights_q[count_q[TapWidth-1:0]] <= in_data_i;
    weight_word_q <= weights_q[tap_q];
  end

  always_ff @(posedge clk_i) begin
    step_q   <= rst_ni && state_q == StTaps;
    on_map_q <= on_map;
    lane_q   <= at_q[2:0];
  end
  assign value = on_map_q ? map_word_q[8*lane_q+:8] : 8'd0;

  nn_lanes u_lanes (
    .clk_i, .rst_ni,
    .bias_valid_i(take && state_q == StBias), .bias_index_i(count_q[1:0]), .bias_i(in_data_i),
    .begin_i(state_q == StBase), .step_i(step_q), .value_i(value), .weights_i(weight_word_q),
    .shift_i, .relu_i, .result_o(result)
  );

  always_comb begin
    merged = result;
    for (int unsigned i = 0; i < 8; i++) begin
      if (quad_q != 2'd0 && $signed(best_q[i]) > $signed(result[i])) merged[i] = best_q[i];
    end
  end

  logic quad_last, row_end, map_end;
  assign quad_last = !pool_i || quad_q == 2'd3;
  assign row_end   = column_q == columns_i - 8'd1;
  assign map_end   = row_end && row_q == rows_i - 8'd1;
  assign out_valid_o = state_q == StEmit;
  assign out_data_o  = best_q;

  always_ff @(posedge clk_i) begin
    if (!rst_ni || clear_i) begin
      state_q  <= StMap;
      count_q  <= '0;
      drain_q  <= '0;
      group_q  <= '0;
      row_q    <= '0;
      column_q <= '0;
      quad_q   <= '0;
    end else begin
      if (take) count_q <= count_q + 1'b1;
      unique case (state_q)
        StMap: if (take && count_q == map_last_q) begin
          state_q <= StBias;
          count_q <= '0;
        end
        StBias: if (take && count_q[1:0] == 2'd3) begin
          state_q <= StWeights;
          count_q <= '0;
        end
        StWeights: if (take && count_q[TapWidth:0] == taps_last_q) begin
          state_q <= StPixel;
          count_q <= '0;
        end
        StPixel: state_q <= StBase;
        StBase:  state_q <= StScale;
        StScale: state_q <= StTaps;
        StTaps: if (taps_last) begin
          state_q <= StDrain;
          drain_q <= DrainCycles;
        end
        StDrain: begin
          drain_q <= drain_q - 1'b1;
          if (drain_q == 3'd1) state_q <= StMerge;
        end
        StMerge: begin
          best_q  <= merged;
          quad_q  <= quad_last ? '0 : quad_q + 1'b1;
          state_q <= quad_last ? StEmit : StPixel;
        end
        default: if (out_ready_i) begin
          column_q <= row_end ? '0 : column_q + 1'b1;
          if (row_end) row_q <= map_end ? '0 : row_q + 1'b1;
          if (map_end) group_q <= group_q + 1'b1;
          state_q <= !map_end ? StPixel : group_q == groups_i - 6'd1 ? StMap : StBias;
        end
      endcase
    end
  end

endmodule
