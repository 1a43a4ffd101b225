// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
/// Keeps the four training digits nearest to one digit, by Hamming distance, nearest first; of equal
/// distances the one that came first stays in front. Latency 3 cycles, one training digit a cycle.
module knn_search_lane (
  input  logic clk_i,
  /// Take `digit_i` and forget all neighbours.
  input  logic        load_i,
  input  logic [63:0] digit_i,

  input  logic        valid_i,
  input  logic [15:0] index_i,
  input  logic [63:0] train_i,

  /// {distance, index}, nearest in element 0.
  output logic [3:0][31:0] nearest_o
);

  /// Wider than any distance, so that the first four training digits enter.
  localparam logic [6:0] Far = 7'd127;

  function automatic logic [3:0] ones(logic [7:0] bits);
    ones = '0;
    for (int unsigned i = 0; i < 8; i++) ones += 4'(bits[i]);
  endfunction

  logic [63:0] digit_q;
  logic [7:0][3:0] part_q;
  logic [1:0] valid_q;
  logic [1:0][15:0] index_q;
  logic [6:0] total, distance_q;
  logic [3:0][6:0] near_q;
  logic [3:0][15:0] at_q;
  logic [3:0] closer;

  always_comb begin
    total = '0;
    for (int unsigned i = 0; i < 8; i++) total += 7'(part_q[i]);
  end

  for (genvar i = 0; i < 4; i++) begin : gen_slot
    assign closer[i] = distance_q < near_q[i];
    assign nearest_o[i] = {9'd0, near_q[i], at_q[i]};
  end

  always_ff @(posedge clk_i) begin
    if (load_i) begin
      digit_q <= digit_i;
      valid_q <= '0;
      near_q  <= {4{Far}};
      at_q    <= '0;
    end else begin
      valid_q <= {valid_q[0], valid_i};
      if (valid_q[1]) begin
        // Closer slots are a suffix, as distances are sorted: it moves up by one to make room.
        for (int unsigned i = 0; i < 4; i++) begin
          if (closer[i]) begin
            near_q[i] <= (i != 0 && closer[i-1]) ? near_q[i-1] : distance_q;
            at_q[i]   <= (i != 0 && closer[i-1]) ? at_q[i-1] : index_q[1];
          end
        end
      end
    end
    for (int unsigned i = 0; i < 8; i++) part_q[i] <= ones(digit_q[8*i+:8] ^ train_i[8*i+:8]);
    distance_q <= total;
    index_q    <= {index_q[0], index_i};
  end

endmodule
