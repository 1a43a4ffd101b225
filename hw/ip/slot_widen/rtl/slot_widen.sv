// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
/// A module whose port to memory has 64 bits, in a slot whose port has 128: its beats go as narrow ones, in the half that their
/// address says. What is not here passes by it: requests' payload, write answers, the rest of reads.
///
/// A beat takes the wide port for a cycle, as it takes a narrow one, so the module is as fast as it was. Data goes after its
/// request. Answers come in the order of the requests, as the shell gives them. Outputs toward the slot hang on no input.
module slot_widen (
  input  logic         clk_i,
  /// Synchronous reset, active low.
  input  logic         rst_ni,

  /// Requests that the module offers.
  input  logic [  3:0] awaddr_i,
  input  logic [  7:0] awlen_i,
  input  logic [  2:0] awsize_i,
  input  logic [  1:0] awburst_i,
  input  logic         awvalid_i,
  output logic         awready_o,
  input  logic [  3:0] araddr_i,
  input  logic [  7:0] arlen_i,
  input  logic [  2:0] arsize_i,
  input  logic [  1:0] arburst_i,
  input  logic         arvalid_i,
  output logic         arready_o,
  /// Its data.
  input  logic [ 63:0] wdata_i,
  input  logic [  7:0] wstrb_i,
  input  logic         wlast_i,
  input  logic         wvalid_i,
  output logic         wready_o,
  output logic [ 63:0] rdata_o,
  input  logic         rready_i,

  /// The same at the slot's port.
  output logic         awvalid_o,
  input  logic         awready_i,
  output logic         arvalid_o,
  input  logic         arready_i,
  output logic [127:0] wdata_o,
  output logic [ 15:0] wstrb_o,
  output logic         wvalid_o,
  input  logic         wready_i,
  input  logic [127:0] rdata_i,
  input  logic         rlast_i,
  input  logic         rvalid_i
);

  logic aw_full, ar_full, w_upper, r_upper, w_unknown, r_unknown;

  assign awvalid_o = awvalid_i && !aw_full;
  assign awready_o = awready_i && !aw_full;
  assign arvalid_o = arvalid_i && !ar_full;
  assign arready_o = arready_i && !ar_full;
  assign wvalid_o = wvalid_i && !w_unknown;
  assign wready_o = wready_i && !w_unknown;
  assign wdata_o = {2{wdata_i}};
  assign wstrb_o = w_upper ? {wstrb_i, 8'd0} : {8'd0, wstrb_i};
  assign rdata_o = r_upper ? rdata_i[127:64] : rdata_i[63:0];

  widen_lane u_write (
    .clk_i,
    .rst_ni,
    .ask_i(awvalid_o && awready_i),
    .addr_i(awaddr_i),
    .len_i(awlen_i),
    .size_i(awsize_i),
    .burst_i(awburst_i),
    .full_o(aw_full),
    .beat_i(wvalid_o && wready_i),
    .last_i(wlast_i),
    .upper_o(w_upper),
    .unknown_o(w_unknown)
  );

  widen_lane u_read (
    .clk_i,
    .rst_ni,
    .ask_i(arvalid_o && arready_i),
    .addr_i(araddr_i),
    .len_i(arlen_i),
    .size_i(arsize_i),
    .burst_i(arburst_i),
    .full_o(ar_full),
    .beat_i(rvalid_i && rready_i),
    .last_i(rlast_i),
    .upper_o(r_upper),
    .unknown_o(r_unknown)
  );

  // What memory answers was asked for.
  logic unused;
  assign unused = r_unknown;

endmodule
