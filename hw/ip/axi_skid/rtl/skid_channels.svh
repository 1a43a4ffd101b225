// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
// One channel through a register block (`skid` or `stage`), for `axi_skid`, `axil_skid` and `axil_stage`, whose ports have the same
// names. Requests go from the manager to the subordinate; answers come back, in the field `payload` of the answers.
`ifndef SKID_CHANNELS_SVH
`define SKID_CHANNELS_SVH

`define SKID_REQUESTS(block, channel, kind) \
  block #( \
    .Width($bits(kind)) \
  ) u_``channel ( \
    .clk_i, \
    .rst_ni, \
    .valid_i(req_i.channel``_valid), \
    .ready_o(rsp_o.channel``_ready), \
    .data_i(req_i.channel), \
    .valid_o(req_o.channel``_valid), \
    .ready_i(rsp_i.channel``_ready), \
    .data_o(req_o.channel) \
  );

`define SKID_ANSWERS(block, channel, payload, kind) \
  block #( \
    .Width($bits(kind)) \
  ) u_``channel ( \
    .clk_i, \
    .rst_ni, \
    .valid_i(rsp_i.channel``_valid), \
    .ready_o(req_o.channel``_ready), \
    .data_i(rsp_i.payload), \
    .valid_o(rsp_o.channel``_valid), \
    .ready_i(req_i.channel``_ready), \
    .data_o(rsp_o.payload) \
  );

`endif
