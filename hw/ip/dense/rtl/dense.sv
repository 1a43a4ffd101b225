// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
/// One fully connected layer of 8-bit integers, or a slice of its outputs, or two such layers one after the other.
///
/// Arguments: `in` (activations, in the order of the weights), `weights` (for every eight outputs of the layer four words
/// of biases and one word of eight weights an input; then those of the second layer), `out` (all the layer's outputs),
/// 8-byte aligned; `inputs` (8 to 4096, a multiple of 8); `first` and `groups`: which groups of eight outputs; `shift`
/// and `relu` of the results; `groups2` and `shift2`: of a second layer over those results, which has no ReLU; 0 groups:
/// there is none. Two layers are computed whole: `first` is 0.
module dense #(
  /// Hash of sources and toolchain, read back from the identity block.
  parameter logic [63:0] BuildHash = '0
) (
  `include "slot_ports.svh"
);

  localparam int unsigned NumPointers = 3, NumScalars = 7, NumReads = 2, NumWrites = 1;
  `include "hls_run.svh"

  localparam int unsigned MaxInputs = 4096;
  localparam int unsigned MaxGroups = 64;

  logic [31:0] inputs, first, groups, shift, relu, groups2, shift2;
  assign {shift2, groups2, relu, shift, groups, first, inputs} = scalars;

  logic [BeatsWidth-1:0] group_beats, group2_beats;
  assign group_beats  = BeatsWidth'(inputs[12:0]) + BeatsWidth'(4);
  assign group2_beats = BeatsWidth'({groups[6:0], 3'd0}) + BeatsWidth'(4);

  assign legal = inputs != '0 && inputs <= 32'(MaxInputs) && inputs[2:0] == '0 &&
                 groups != '0 && groups <= 32'(MaxGroups) && first < 32'(MaxGroups) &&
                 groups2 <= 32'(MaxGroups) && (groups2 == '0 || first == '0) &&
                 shift <= 32'd24 && shift2 <= 32'd24 && relu <= 32'd1;

  assign read_addr[0]   = pointers[0][39:0];
  assign read_beats[0]  = BeatsWidth'(inputs[12:3]);
  assign read_addr[1]   = pointers[1][39:0] + {13'd0, group_beats * BeatsWidth'(first[5:0]), 3'd0};
  assign read_beats[1]  = group_beats * BeatsWidth'(groups[6:0]) + group2_beats * BeatsWidth'(groups2[6:0]);
  assign write_addr[0]  = pointers[2][39:0] + {31'd0, first[5:0], 3'd0};
  assign write_beats[0] = groups2 == '0 ? BeatsWidth'(groups[6:0]) : BeatsWidth'(groups2[6:0]);

  dense_core #(.MaxInputs(MaxInputs), .MaxGroups(MaxGroups)) u_core (
    .clk_i, .rst_ni, .clear_i(start),
    .inputs_i(inputs[12:0]), .groups_i(groups[6:0]), .shift_i(shift[4:0]), .relu_i(relu[0]),
    .groups2_i(groups2[6:0]), .shift2_i(shift2[4:0]),
    .in_valid_i(in_valid), .in_ready_o(in_ready), .in_data_i(in_data),
    .out_valid_o(out_valid), .out_ready_i(out_ready), .out_data_o(out_data)
  );

endmodule
