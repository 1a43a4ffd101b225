// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
/// A count from clock to clock, by the name, ports and parameters of AMD's `xpm_cdc_gray` (Ref: UG974).
///
/// Both sides have the slot's clock: what remains of it is when it comes, `DEST_SYNC_FF` cycles later.
module xpm_cdc_gray #(
  parameter int DEST_SYNC_FF = 4,
  parameter int INIT_SYNC_FF = 0,
  parameter int SIM_ASSERT_CHK = 0,
  parameter int REG_OUTPUT = 0,
  parameter int SIM_LOSSLESS_GRAY_CHK = 0,
  parameter int WIDTH = 2
) (
  input  logic src_clk,
  input  logic [WIDTH-1:0] src_in_bin,
  input  logic dest_clk,
  output logic [WIDTH-1:0] dest_out_bin
);

  localparam int Stages = DEST_SYNC_FF + 1 + REG_OUTPUT;
  logic [WIDTH-1:0] stages_q [Stages] = '{default: '0};

  always_ff @(posedge dest_clk) begin
    stages_q[0] <= src_in_bin;
    for (int i = 1; i < Stages; i++) stages_q[i] <= stages_q[i-1];
  end
  assign dest_out_bin = stages_q[Stages-1];

  logic unused;
  assign unused = src_clk;

endmodule
