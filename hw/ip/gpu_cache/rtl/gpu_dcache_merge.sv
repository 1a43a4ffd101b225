// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
/// The lanes of a store, merged into one row: its bytes, and which of them are stored. Purely combinational.
module gpu_dcache_merge #(
  parameter int unsigned Threads = 4,
  parameter int unsigned RowBytes = 16,
  localparam int unsigned RowOffset = $clog2(RowBytes)
) (
  /// Nothing is stored without it.
  input  logic                     valid_i,
  /// Bytes of a datum: 1, 2 or 4, as powers of two.
  input  logic [1:0]               size_i,
  /// Lanes whose data lie in the row. Of several that store one byte, the highest counts.
  input  logic [Threads-1:0]       lanes_i,
  input  logic [Threads-1:0][31:0] addr_i,
  input  logic [Threads-1:0][31:0] data_i,
  output logic [8*RowBytes-1:0]    data_o,
  output logic [RowBytes-1:0]      strb_o
);

  localparam int unsigned LaneWidth = (Threads > 1) ? $clog2(Threads) : 1;

  // Of addresses the place in the row.
  logic unused;
  always_comb begin
    unused = 1'b0;
    for (int t = 0; t < int'(Threads); t++) unused ^= ^addr_i[t][31:RowOffset];
  end

  always_comb begin
    data_o = 'x;
    strb_o = '0;
    if (valid_i) begin
      automatic logic [Threads-1:0][3:0] bytes;
      automatic logic [Threads-1:0][31:0] data;
      for (int t = 0; t < int'(Threads); t++) begin
        // A lane's datum on all the places of a word it may have, and the bytes of the word it takes.
        unique case (size_i)
          2'd0: begin
            data[t] = {4{data_i[t][7:0]}};
            bytes[t] = 4'b0001 << addr_i[t][1:0];
          end
          2'd1: begin
            data[t] = {2{data_i[t][15:0]}};
            bytes[t] = addr_i[t][1] ? 4'b1100 : 4'b0011;
          end
          default: begin
            data[t] = data_i[t];
            bytes[t] = 4'b1111;
          end
        endcase
      end
      for (int k = 0; k < int'(RowBytes); k++) begin
        automatic logic [LaneWidth-1:0] lane;
        lane = '0;
        for (int t = 0; t < int'(Threads); t++) begin
          if (lanes_i[t] && addr_i[t][RowOffset-1:2] == (RowOffset - 2)'(k / 4) && bytes[t][k%4]) begin
            lane = LaneWidth'(t);
            strb_o[k] = 1'b1;
          end
        end
        data_o[8*k+:8] = data[lane][8*(k%4)+:8];
      end
    end
  end

endmodule
