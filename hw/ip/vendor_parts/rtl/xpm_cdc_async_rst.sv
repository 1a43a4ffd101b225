// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
/// A reset that begins at once and ends with a clock, by the name, ports and parameters of AMD's `xpm_cdc_async_rst` (Ref: UG974).
///
/// Both sides have the slot's clock: what remains of it is when it comes, `DEST_SYNC_FF` cycles later.
module xpm_cdc_async_rst #(
  parameter int DEST_SYNC_FF = 4,
  parameter int INIT_SYNC_FF = 0,
  parameter int RST_ACTIVE_HIGH = 0
) (
  input  logic src_arst,
  input  logic dest_clk,
  output logic dest_arst
);

  logic [DEST_SYNC_FF-1:0] stages_q = '1;
  logic asked;

  assign asked = src_arst == (RST_ACTIVE_HIGH != 0);
  always_ff @(posedge dest_clk) stages_q <= asked ? '1 : DEST_SYNC_FF'({stages_q, 1'b0});
  assign dest_arst = (asked || stages_q[DEST_SYNC_FF-1]) == (RST_ACTIVE_HIGH != 0);

endmodule
