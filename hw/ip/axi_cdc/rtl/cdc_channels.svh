// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
// One channel between two clocks over an `async_fifo`, for `axi_cdc` and `axil_cdc`, whose ports have the same names. Requests go
// from the source to the destination; answers come back, in the field `payload` of the answers.
`ifndef CDC_CHANNELS_SVH
`define CDC_CHANNELS_SVH

`define CDC_REQUESTS(channel, kind) \
  async_fifo #( \
    .Width($bits(kind)), \
    .Depth(Depth) \
  ) u_``channel ( \
    .src_clk_i(src_clk_i), \
    .src_rst_ni(src_rst_ni), \
    .dst_clk_i(dst_clk_i), \
    .dst_rst_ni(dst_rst_ni), \
    .valid_i(src_req_i.channel``_valid), \
    .ready_o(src_rsp_o.channel``_ready), \
    .data_i(src_req_i.channel), \
    .valid_o(dst_req_o.channel``_valid), \
    .ready_i(dst_rsp_i.channel``_ready), \
    .data_o(dst_req_o.channel) \
  );

`define CDC_ANSWERS(channel, payload, kind) \
  async_fifo #( \
    .Width($bits(kind)), \
    .Depth(Depth) \
  ) u_``channel ( \
    .src_clk_i(dst_clk_i), \
    .src_rst_ni(dst_rst_ni), \
    .dst_clk_i(src_clk_i), \
    .dst_rst_ni(src_rst_ni), \
    .valid_i(dst_rsp_i.channel``_valid), \
    .ready_o(dst_req_o.channel``_ready), \
    .data_i(dst_rsp_i.payload), \
    .valid_o(src_rsp_o.channel``_valid), \
    .ready_i(src_req_i.channel``_ready), \
    .data_o(src_rsp_o.payload) \
  );

`endif
