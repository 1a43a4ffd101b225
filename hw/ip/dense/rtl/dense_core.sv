// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
/// Fully connected layers: the activations are kept, weights go past them, eight outputs at a time.
///
/// In: the activations' words; then for each group of eight outputs four words of biases and one word of eight weights
/// for each activation; then the same of the second layer, whose activations are the first one's outputs. Out: a
/// word of eight outputs a group of the last layer. One word of weights a cycle, 4 cycles a group beside.
module dense_core #(
  /// Activations of the first layer, eight times a power of two.
  parameter int unsigned MaxInputs = 4096,
  /// Groups of either layer, a power of two.
  parameter int unsigned MaxGroups = 64
) (
  input  logic clk_i,
  input  logic rst_ni,
  input  logic clear_i,

  // All stable while a run lasts.
  input  logic [$clog2(MaxInputs):0] inputs_i,
  input  logic [$clog2(MaxGroups):0] groups_i,
  input  logic [4:0]                 shift_i,
  input  logic                       relu_i,
  /// Zero: there is no second layer.
  input  logic [$clog2(MaxGroups):0] groups2_i,
  input  logic [4:0]                 shift2_i,

  input  logic        in_valid_i,
  output logic        in_ready_o,
  input  logic [63:0] in_data_i,
  output logic        out_valid_o,
  input  logic        out_ready_i,
  output logic [63:0] out_data_o
);

  localparam int unsigned InputWidth = $clog2(MaxInputs);
  localparam int unsigned GroupWidth = $clog2(MaxGroups);
  /// Cycles between the last step and the cycle of the result.
  localparam logic [2:0] DrainCycles = 3'd3;

  typedef enum logic [2:0] {StInput, StBias, StWeights, StDrain, StEmit} state_e;
  state_e state_q;

  logic [63:0] inputs_q [MaxInputs/8];
  logic [63:0] hidden_q [MaxGroups];
  logic [63:0] input_word_q, hidden_word_q, weight_word_q, word;

  logic [InputWidth:0] count_q, layer_inputs;
  logic [GroupWidth:0] group_q, layer_groups;
  logic [2:0] drain_q, lane_q;
  logic second_q, step_q, take, keep, emitted, group_last, more;
  logic [7:0][7:0] result;

  assign in_ready_o = state_q inside {StInput, StBias, StWeights};
  assign take = in_valid_i && in_ready_o;
  assign layer_inputs = second_q ? (InputWidth + 1)'({groups_i, 3'd0}) : inputs_i;
  assign layer_groups = second_q ? groups2_i : groups_i;

  // Results of a first layer stay here when a second one follows.
  assign more        = groups2_i != '0 && !second_q;
  assign keep        = state_q == StEmit && more;
  assign out_valid_o = state_q == StEmit && !more;
  assign emitted     = state_q == StEmit && (more || out_ready_i);
  assign out_data_o  = result;
  assign group_last  = group_q == layer_groups - 1'b1;

  always_ff @(posedge clk_i) begin
    if (take && state_q == StInput) inputs_q[count_q[InputWidth-4:0]] <= in_data_i;
    input_word_q <= inputs_q[count_q[InputWidth-1:3]];
  end
  always_ff @(posedge clk_i) begin
    if (keep) hidden_q[group_q[GroupWidth-1:0]] <= result;
    hidden_word_q <= hidden_q[count_q[GroupWidth+2:3]];
  end
  always_ff @(posedge clk_i) begin
    step_q        <= rst_ni && take && state_q == StWeights;
    lane_q        <= count_q[2:0];
    weight_word_q <= in_data_i;
  end
  assign word = second_q ? hidden_word_q : input_word_q;

  nn_lanes u_lanes (
    .clk_i, .rst_ni,
    .bias_valid_i(take && state_q == StBias), .bias_index_i(count_q[1:0]), .bias_i(in_data_i),
    // In the first cycle of weights the last biases are there, and no product is.
    .begin_i(state_q == StWeights && count_q == '0), .step_i(step_q),
    .value_i(word[8*lane_q+:8]), .weights_i(weight_word_q),
    .shift_i(second_q ? shift2_i : shift_i), .relu_i(relu_i && !second_q), .result_o(result)
  );

  always_ff @(posedge clk_i) begin
    if (!rst_ni || clear_i) begin
      state_q  <= StInput;
      count_q  <= '0;
      drain_q  <= '0;
      group_q  <= '0;
      second_q <= 1'b0;
    end else begin
      if (take) count_q <= count_q + 1'b1;
      unique case (state_q)
        StInput: if (take && count_q == (inputs_i >> 3) - 1'b1) begin
          state_q <= StBias;
          count_q <= '0;
        end
        StBias: if (take && count_q[1:0] == 2'd3) begin
          state_q <= StWeights;
          count_q <= '0;
        end
        StWeights: if (take && count_q == layer_inputs - 1'b1) begin
          state_q <= StDrain;
          drain_q <= DrainCycles;
          count_q <= '0;
        end
        StDrain: begin
          drain_q <= drain_q - 1'b1;
          if (drain_q == 3'd1) state_q <= StEmit;
        end
        default: if (emitted) begin
          group_q  <= group_last ? '0 : group_q + 1'b1;
          second_q <= second_q || (group_last && more);
          state_q  <= group_last && !more ? StInput : StBias;
        end
      endcase
    end
  end

endmodule
