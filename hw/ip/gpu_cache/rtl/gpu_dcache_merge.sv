// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
/// The lanes of a store, merged bank by bank: the word of each, and which of its bytes are stored. Purely combinational.
module gpu_dcache_merge #(
  parameter int unsigned Threads = 4,
  parameter int unsigned Banks = 4
) (
  /// Nothing is stored without it.
  input  logic                     valid_i,
  /// Bytes of a datum: 1, 2 or 4, as powers of two.
  input  logic [1:0]               size_i,
  /// Lanes that store: of each bank one word. Of several that store one byte, the highest counts.
  input  logic [Threads-1:0]       lanes_i,
  input  logic [Threads-1:0][31:0] addr_i,
  input  logic [Threads-1:0][31:0] data_i,
  output logic [Banks-1:0][31:0]   data_o,
  output logic [Banks-1:0][3:0]    strb_o
);

  localparam int unsigned LaneWidth = (Threads > 1) ? $clog2(Threads) : 1;

  // Of addresses the place in the line.
  logic unused;
  always_comb begin
    unused = 1'b0;
    for (int t = 0; t < int'(Threads); t++) unused ^= ^addr_i[t][31:6];
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
      for (int k = 0; k < 4 * int'(Banks); k++) begin
        automatic logic [LaneWidth-1:0] lane;
        lane = '0;
        for (int t = 0; t < int'(Threads); t++) begin
          if (lanes_i[t] && gpu_lines_pkg::bank_of(addr_i[t][5:2], Banks) == 4'(k / 4) && bytes[t][k%4]) begin
            lane = LaneWidth'(t);
            strb_o[k/4][k%4] = 1'b1;
          end
        end
        data_o[k/4][8*(k%4)+:8] = data[lane][8*(k%4)+:8];
      end
    end
  end

endmodule
