// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
/// Bits from clock to clock, by the name, ports and parameters of AMD's `xpm_cdc_array_single` (Ref: UG974).
///
/// Both sides have the slot's clock: what remains of it is when it comes, `DEST_SYNC_FF` cycles later.
module xpm_cdc_array_single #(
  parameter int DEST_SYNC_FF = 4,
  parameter int INIT_SYNC_FF = 0,
  parameter int SIM_ASSERT_CHK = 0,
  parameter int SRC_INPUT_REG = 1,
  parameter int WIDTH = 2
) (
  input  logic src_clk,
  input  logic [WIDTH-1:0] src_in,
  input  logic dest_clk,
  output logic [WIDTH-1:0] dest_out
);

  localparam int Stages = DEST_SYNC_FF + (SRC_INPUT_REG != 0 ? 1 : 0);
  logic [WIDTH-1:0] stages_q [Stages] = '{default: '0};

  always_ff @(posedge dest_clk) begin
    stages_q[0] <= src_in;
    for (int i = 1; i < Stages; i++) stages_q[i] <= stages_q[i-1];
  end
  assign dest_out = stages_q[Stages-1];

  logic unused;
  assign unused = src_clk;

endmodule
