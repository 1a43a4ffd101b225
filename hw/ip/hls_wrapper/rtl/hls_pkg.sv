// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
/// Register offsets and identity of accelerators with Xilinx HLS semantics.
///
/// Ref: UG902, "S_AXILITE Control Register Map"; UG1399, "AXI4-Lite Interface".
package hls_pkg;

  parameter logic [15:0] AddrApCtrl = 16'h0000;
  parameter logic [15:0] AddrGie    = 16'h0004;
  parameter logic [15:0] AddrIer    = 16'h0008;
  parameter logic [15:0] AddrIsr    = 16'h000C;
  /// First argument register.
  parameter int unsigned ArgBase    = 16;

  /// The identity block's page, address bits [15:12].
  parameter logic [3:0]  IdentityPage = identity_regs_pkg::MagicOffset[15:12];

  /// Bits of the status register, latched when a run ends.
  typedef struct packed {
    /// A size or an address was refused; memory was not touched.
    logic illegal;
    /// Memory answered a write with SLVERR or DECERR.
    logic write_error;
    /// Memory answered a read with SLVERR or DECERR; the outputs are worthless.
    logic read_error;
  } status_t;

  /// One word of the identity block; zero beyond its four words.
  function automatic logic [31:0] identity_word(logic [9:0] word, logic [15:0] reg_map,
                                                logic [63:0] build);
    unique case (word)
      10'd0:   return identity_regs_pkg::MagicReset;
      10'd1:   return {16'(identity_regs_pkg::KindHls), reg_map};
      10'd2:   return build[31:0];
      10'd3:   return build[63:32];
      default: return '0;
    endcase
  endfunction

endpackage
