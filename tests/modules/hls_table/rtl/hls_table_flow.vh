// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
// What the files of the kernel share, as headers of dataflow kernels do.
`ifndef HLS_TABLE_FLOW_VH
`define HLS_TABLE_FLOW_VH
`define HLS_TABLE_WORD_BITS 64
`define HLS_TABLE_LAST_BYTE 3'd7
`define HLS_TABLE_ENTRIES 256
`endif
