// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
/// A reset from clock to clock, by the name, ports and parameters of AMD's `xpm_cdc_sync_rst` (Ref: UG974).
///
/// Both sides have the slot's clock: what remains of it is when it comes, `DEST_SYNC_FF` cycles later.
module xpm_cdc_sync_rst #(
  parameter int DEST_SYNC_FF = 4,
  parameter int INIT = 1,
  parameter int INIT_SYNC_FF = 0,
  parameter int SIM_ASSERT_CHK = 0
) (
  input  logic src_rst,
  input  logic dest_clk,
  output logic dest_rst
);

  localparam int Stages = DEST_SYNC_FF;
  logic [1-1:0] stages_q [Stages] = '{default: 1'(INIT)};

  always_ff @(posedge dest_clk) begin
    stages_q[0] <= src_rst;
    for (int i = 1; i < Stages; i++) stages_q[i] <= stages_q[i-1];
  end
  assign dest_rst = stages_q[Stages-1];

endmodule
