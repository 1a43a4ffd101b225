// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
/// A frame of depths and shades in block RAM: cleared, drawn into span by span, then given out.
///
/// The stream brings the triangles, of which depth and shade are kept, then their spans, four rows to a
/// word. Eight pixels are read, compared and written in two cycles, so no draw overtakes another.
module render_cull_core #(
  /// Triangles and frame words held; powers of two.
  parameter int unsigned MaxTriangles = 1024,
  parameter int unsigned MaxWords = 2048,
  localparam int unsigned TriangleWidth = $clog2(MaxTriangles),
  localparam int unsigned WordWidth = $clog2(MaxWords)
) (
  input  logic clk_i,
  input  logic rst_ni,
  input  logic clear_i,
  /// Triangles, and the frame: multiples of 8 from 8 to 128; stable while a run lasts.
  input  logic [TriangleWidth:0] count_i,
  input  logic [7:0] width_i,
  input  logic [7:0] height_i,

  input  logic        in_valid_i,
  output logic        in_ready_o,
  input  logic [63:0] in_data_i,
  output logic        out_valid_o,
  input  logic        out_ready_i,
  output logic [63:0] out_data_o
);

  typedef enum logic [2:0] {StClear, StTriangles, StSpans, StRow, StRead, StWrite, StFetch, StEmit} state_e;
  state_e state_q;

  logic [TriangleWidth:0] triangle_q;
  logic [7:0] row_q, first_q, last_q, first, last;
  logic [4:0] group_q;
  logic [3:0][15:0] spans_q;
  logic [WordWidth-1:0] base_q, word_q, address;
  logic last_triangle, last_row, last_word, drawn, row_end;

  // {shade, depth} of every triangle and of the one that is drawn.
  (* ram_style = "block" *) logic [15:0] triangles_q [MaxTriangles];
  logic [15:0] paint_q;
  logic [7:0] depth, shade;

  (* ram_style = "block" *) logic [63:0] depths_q [MaxWords];
  (* ram_style = "block" *) logic [63:0] shades_q [MaxWords];
  logic [63:0] depths_read_q, shades_read_q, depths_new, shades_new;
  logic write;

  assign {shade, depth} = paint_q;
  assign last_triangle = triangle_q == count_i - 1'b1;
  assign last_row  = row_q == height_i - 8'd1;
  assign last_word = word_q == WordWidth'(12'(width_i[7:3]) * 12'(height_i) - 12'd1);
  assign drawn     = group_q == last_q[7:3];
  // The span of this row, cut to the frame.
  assign first = spans_q[row_q[1:0]][7:0];
  assign last  = spans_q[row_q[1:0]][15:8] < width_i ? spans_q[row_q[1:0]][15:8] : width_i - 8'd1;
  assign row_end = (state_q == StRow && first > last) || (state_q == StWrite && drawn);

  assign in_ready_o  = state_q == StTriangles || state_q == StSpans;
  assign out_valid_o = state_q == StEmit;
  assign out_data_o  = shades_read_q;

  always_ff @(posedge clk_i) begin
    if (!rst_ni || clear_i) begin
      state_q    <= StClear;
      triangle_q <= '0;
      row_q      <= '0;
      base_q     <= '0;
      word_q     <= '0;
      group_q    <= '0;
    end else begin
      unique case (state_q)
        StClear: begin
          word_q <= last_word ? '0 : word_q + 1'b1;
          if (last_word) state_q <= StTriangles;
        end
        StTriangles: if (in_valid_i) begin
          triangle_q <= last_triangle ? '0 : triangle_q + 1'b1;
          if (last_triangle) state_q <= StSpans;
        end
        StSpans: if (in_valid_i) state_q <= StRow;
        StRow: begin
          group_q <= first[7:3];
          if (!row_end) state_q <= StRead;
        end
        StRead: state_q <= StWrite;
        StWrite: begin
          group_q <= group_q + 1'b1;
          state_q <= StRead;
        end
        StFetch: state_q <= StEmit;
        default: if (out_ready_i) begin
          word_q  <= word_q + 1'b1;
          state_q <= last_word ? StClear : StFetch;
        end
      endcase
      if (row_end) begin
        state_q <= row_q[1:0] == 2'd3 ? StSpans : StRow;
        row_q   <= row_q + 1'b1;
        base_q  <= base_q + WordWidth'(width_i[7:3]);
        if (last_row) begin
          row_q      <= '0;
          base_q     <= '0;
          triangle_q <= triangle_q + 1'b1;
          if (last_triangle) state_q <= StFetch;
        end
      end
    end
  end

  always_ff @(posedge clk_i) begin
    if (state_q == StSpans) spans_q <= in_data_i;
    if (state_q == StRow) begin
      first_q <= first;
      last_q  <= last;
    end
  end

  always_ff @(posedge clk_i) begin
    if (state_q == StTriangles && in_valid_i) begin
      triangles_q[triangle_q[TriangleWidth-1:0]] <= {in_data_i[63:56], in_data_i[55:48]};
    end
    paint_q <= triangles_q[triangle_q[TriangleWidth-1:0]];
  end

  always_comb begin
    address    = word_q;
    depths_new = '1;
    shades_new = '0;
    if (state_q == StRead || state_q == StWrite) begin
      address = base_q + WordWidth'(group_q);
    end
    if (state_q == StWrite) begin
      for (int unsigned k = 0; k < 8; k++) begin
        depths_new[8*k+:8] = depths_read_q[8*k+:8];
        shades_new[8*k+:8] = shades_read_q[8*k+:8];
        if ({group_q, 3'(k)} >= first_q && {group_q, 3'(k)} <= last_q && depth < depths_read_q[8*k+:8]) begin
          depths_new[8*k+:8] = depth;
          shades_new[8*k+:8] = shade;
        end
      end
    end
  end
  assign write = state_q == StClear || state_q == StWrite;

  always_ff @(posedge clk_i) begin
    if (write) begin
      depths_q[address] <= depths_new;
      shades_q[address] <= shades_new;
    end
    depths_read_q <= depths_q[address];
    shades_read_q <= shades_q[address];
  end

endmodule
