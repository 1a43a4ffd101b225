// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
// Bits of the slots' ports to memory, and of the shell's: what a profile's `memory_bits` says. One for all that is compiled together.
`ifndef EDDY_MEMORY_BITS
`define EDDY_MEMORY_BITS 64
`endif

/// Widths and types that both sides of the slot boundary agree on.
package eddy_pkg;

  /// Physical address, in bits: the reach of the Zynq UltraScale+ memory map.
  parameter int unsigned AddrWidth = 40;
  /// Memory data, in bits, at the slot boundary: 64 or 128.
  parameter int unsigned DataWidth = `EDDY_MEMORY_BITS;
  parameter int unsigned StrbWidth = DataWidth / 8;
  /// Bits of a byte's number within a beat; AxSIZE of a whole one.
  parameter int unsigned BeatBits = $clog2(StrbWidth);
  /// Bits of AxSIZE that tell beats apart which fit the port.
  parameter int unsigned SizeWidth = $clog2(BeatBits + 1);
  /// Bits of the number of bytes that a burst moves, which is 256 beats at most.
  parameter int unsigned BurstBytesWidth = 9 + BeatBits;
  /// Transaction id a module may use.
  parameter int unsigned IdWidth = 4;
  /// Memory context in AxUSER: which tenant's windows apply.
  parameter int unsigned ContextWidth = 4;
  /// A module's register window, in address bits (64 KiB).
  parameter int unsigned CtrlAddrWidth = 16;
  parameter int unsigned CtrlDataWidth = 32;

  /// Write or read request on the memory path.
  typedef struct packed {
    logic [IdWidth-1:0]      id;
    logic [AddrWidth-1:0]    addr;
    logic [7:0]              len;
    logic [2:0]              size;
    logic [1:0]              burst;
    logic [3:0]              cache;
    logic [2:0]              prot;
    logic [3:0]              qos;
    logic [ContextWidth-1:0] user;
  } ax_t;

  typedef struct packed {
    logic [DataWidth-1:0] data;
    logic [StrbWidth-1:0] strb;
    logic                 last;
  } w_t;

  typedef struct packed {
    logic [IdWidth-1:0] id;
    logic [1:0]         resp;
  } b_t;

  typedef struct packed {
    logic [IdWidth-1:0]   id;
    logic [DataWidth-1:0] data;
    logic [1:0]           resp;
    logic                 last;
  } r_t;

  /// Request on the control path.
  typedef struct packed {
    logic [CtrlAddrWidth-1:0] addr;
    logic [2:0]               prot;
  } lite_ax_t;

  typedef struct packed {
    logic [CtrlDataWidth-1:0]   data;
    logic [CtrlDataWidth/8-1:0] strb;
  } lite_w_t;

  typedef struct packed {
    logic [CtrlDataWidth-1:0] data;
    logic [1:0]               resp;
  } lite_r_t;

  /// The five channels of the memory path, as its manager drives them.
  typedef struct packed {
    ax_t  aw;
    logic aw_valid;
    w_t   w;
    logic w_valid;
    logic b_ready;
    ax_t  ar;
    logic ar_valid;
    logic r_ready;
  } axi_req_t;

  /// The five channels of the memory path, as its subordinate drives them.
  typedef struct packed {
    logic aw_ready;
    logic w_ready;
    b_t   b;
    logic b_valid;
    logic ar_ready;
    r_t   r;
    logic r_valid;
  } axi_rsp_t;

  /// The five channels of the control path, as its manager (the CPU's side) drives them.
  typedef struct packed {
    lite_ax_t aw;
    logic     aw_valid;
    lite_w_t  w;
    logic     w_valid;
    logic     b_ready;
    lite_ax_t ar;
    logic     ar_valid;
    logic     r_ready;
  } lite_req_t;

  /// The five channels of the control path, as its subordinate (the module's side) drives them.
  typedef struct packed {
    logic       aw_ready;
    logic       w_ready;
    logic [1:0] b_resp;
    logic       b_valid;
    logic       ar_ready;
    lite_r_t    r;
    logic       r_valid;
  } lite_rsp_t;

  parameter logic [1:0] RespOkay   = 2'b00;
  parameter logic [1:0] RespSlvErr = 2'b10;
  parameter logic [1:0] RespDecErr = 2'b11;

  parameter logic [1:0] BurstFixed = 2'b00;
  parameter logic [1:0] BurstIncr  = 2'b01;
  parameter logic [1:0] BurstWrap  = 2'b10;

  /// First word of every module's identity block: "EDDY".
  parameter logic [31:0] IdentityMagic = 32'h4544_4459;

endpackage
