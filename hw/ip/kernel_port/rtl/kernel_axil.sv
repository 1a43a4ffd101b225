// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
/// A slot's AXI4-Lite to the register bundles of a kernel, each with a part of the window of its own, and what a slot wants
/// beside them: the identity block at 0xF000, and a status at `StatusAddr`, which a start clears.
///
/// Every other address reads zero and ignores writes; every access is answered OKAY, whatever the kernel answers. Bundles see
/// offsets within their part, of whole words. AP_CTRL's auto_restart (bit 7) is always written as zero. One write and one read at
/// a time. Every output toward the slot is a flop.
module kernel_axil #(
  /// Register bundles. Bundle 0 is the one that holds AP_CTRL, at the beginning of the window.
  parameter int unsigned NumBundles = 1,
  /// Where each begins in the window, and how many bytes it has.
  parameter logic [NumBundles-1:0][15:0] Base = '0,
  parameter logic [NumBundles-1:0][15:0] Bytes = {NumBundles{16'd64}},
  parameter logic [15:0] StatusAddr = 16'hEF00,
  parameter logic [15:0] RegMap = 16'h0100,
  parameter logic [63:0] BuildHash = '0
) (
  input  logic clk_i,
  /// Synchronous reset, active low.
  input  logic rst_ni,

  input  logic [15:0] s_axil_awaddr,
  input  logic        s_axil_awvalid,
  output logic        s_axil_awready,
  input  logic [31:0] s_axil_wdata,
  input  logic [3:0]  s_axil_wstrb,
  input  logic        s_axil_wvalid,
  output logic        s_axil_wready,
  output logic [1:0]  s_axil_bresp,
  output logic        s_axil_bvalid,
  input  logic        s_axil_bready,
  input  logic [15:0] s_axil_araddr,
  input  logic        s_axil_arvalid,
  output logic        s_axil_arready,
  output logic [31:0] s_axil_rdata,
  output logic [1:0]  s_axil_rresp,
  output logic        s_axil_rvalid,
  input  logic        s_axil_rready,

  /// The bundles: one payload for all, a handshake for each.
  output logic [15:0]                 bundle_awaddr_o,
  output logic [NumBundles-1:0]       bundle_awvalid_o,
  input  logic [NumBundles-1:0]       bundle_awready_i,
  output logic [31:0]                 bundle_wdata_o,
  output logic [3:0]                  bundle_wstrb_o,
  output logic [NumBundles-1:0]       bundle_wvalid_o,
  input  logic [NumBundles-1:0]       bundle_wready_i,
  input  logic [NumBundles-1:0]       bundle_bvalid_i,
  output logic [NumBundles-1:0]       bundle_bready_o,
  output logic [15:0]                 bundle_araddr_o,
  output logic [NumBundles-1:0]       bundle_arvalid_o,
  input  logic [NumBundles-1:0]       bundle_arready_i,
  input  logic [NumBundles-1:0][31:0] bundle_rdata_i,
  input  logic [NumBundles-1:0]       bundle_rvalid_i,
  output logic [NumBundles-1:0]       bundle_rready_o,

  /// Pulse: a start is on its way to the kernel, and has not reached it.
  output logic start_o,
  /// Pulses that set a bit of the status each.
  input  logic read_error_i,
  input  logic write_error_i,
  input  logic refused_i,
  /// Pulses that set bits 23 to 3.
  input  logic [20:0] trouble_i
);

  typedef logic [NumBundles-1:0] bundles_t;
  typedef enum logic [1:0] {WrTake, WrPass, WrWait, WrAnswer} write_e;
  typedef enum logic [1:0] {RdTake, RdPass, RdWait, RdAnswer} read_e;

  /// Which bundle an address is of, a bit for each.
  function automatic bundles_t target(logic [15:0] addr);
    for (int unsigned i = 0; i < NumBundles; i++) target[i] = addr >= Base[i] && addr - Base[i] < Bytes[i];
  endfunction

  /// The offset within a bundle, of a whole word.
  function automatic logic [15:0] offset(logic [15:0] addr, bundles_t to);
    offset = '0;
    for (int unsigned i = 0; i < NumBundles; i++) if (to[i]) offset |= addr - Base[i];
    offset[1:0] = '0;
  endfunction

  // Writes.
  write_e write_q;
  logic addr_held_q, data_held_q, aw_ready_q, w_ready_q, b_valid_q, passed;
  logic [15:0] waddr_q;
  bundles_t write_to_q, aw_left_q, w_left_q, write_to;

  assign s_axil_awready = aw_ready_q;
  assign s_axil_wready = w_ready_q;
  assign s_axil_bvalid = b_valid_q;
  assign s_axil_bresp = eddy_pkg::RespOkay;
  assign write_to = target(waddr_q);
  assign bundle_awvalid_o = aw_left_q;
  assign bundle_wvalid_o = w_left_q;
  assign bundle_bready_o = write_q == WrWait ? write_to_q : '0;
  assign passed = ((aw_left_q & ~bundle_awready_i) | (w_left_q & ~bundle_wready_i)) == '0;
  assign start_o = write_q == WrTake && addr_held_q && data_held_q && waddr_q[15:2] == '0 && bundle_wdata_o[0]
      && bundle_wstrb_o[0];

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      write_q <= WrTake;
      addr_held_q <= 1'b0;
      data_held_q <= 1'b0;
      aw_ready_q <= 1'b0;
      w_ready_q <= 1'b0;
      b_valid_q <= 1'b0;
      waddr_q <= '0;
      write_to_q <= '0;
      aw_left_q <= '0;
      w_left_q <= '0;
      bundle_awaddr_o <= '0;
      bundle_wdata_o <= '0;
      bundle_wstrb_o <= '0;
    end else begin
      aw_ready_q <= write_q == WrTake && !addr_held_q && !(s_axil_awvalid && aw_ready_q);
      w_ready_q <= write_q == WrTake && !data_held_q && !(s_axil_wvalid && w_ready_q);
      if (s_axil_awvalid && aw_ready_q) begin
        addr_held_q <= 1'b1;
        waddr_q <= s_axil_awaddr;
      end
      if (s_axil_wvalid && w_ready_q) begin
        data_held_q <= 1'b1;
        bundle_wdata_o <= s_axil_wdata;
        bundle_wstrb_o <= s_axil_wstrb;
      end
      unique case (write_q)
        WrTake: begin
          if (addr_held_q && data_held_q) begin
            write_q <= write_to != '0 ? WrPass : WrAnswer;
            b_valid_q <= write_to == '0;
            write_to_q <= write_to;
            aw_left_q <= write_to;
            w_left_q <= write_to;
            bundle_awaddr_o <= offset(waddr_q, write_to);
            // No auto_restart: runs begin with a start each, and their ends are told.
            if (waddr_q[15:2] == '0) bundle_wdata_o[7] <= 1'b0;
          end
        end
        WrPass: begin
          aw_left_q <= aw_left_q & ~bundle_awready_i;
          w_left_q <= w_left_q & ~bundle_wready_i;
          if (passed) write_q <= WrWait;
        end
        WrWait: begin
          if ((bundle_bvalid_i & write_to_q) != '0) begin
            write_q <= WrAnswer;
            b_valid_q <= 1'b1;
          end
        end
        default: begin
          if (s_axil_bready) begin
            write_q <= WrTake;
            b_valid_q <= 1'b0;
            addr_held_q <= 1'b0;
            data_held_q <= 1'b0;
          end
        end
      endcase
    end
  end

  // The status: what memory's errors and refused bursts leave until the next start.
  logic [23:0] status_q;

  always_ff @(posedge clk_i) begin
    if (!rst_ni || start_o) status_q <= '0;
    else status_q <= status_q | {trouble_i, refused_i, write_error_i, read_error_i};
  end

  // Reads.
  read_e read_q;
  logic ar_ready_q, r_valid_q;
  bundles_t read_to_q, ar_left_q, read_to;
  logic [31:0] own, answer;

  assign s_axil_arready = ar_ready_q;
  assign s_axil_rvalid = r_valid_q;
  assign s_axil_rresp = eddy_pkg::RespOkay;
  assign read_to = target(s_axil_araddr);
  assign bundle_arvalid_o = ar_left_q;
  assign bundle_rready_o = read_q == RdWait ? read_to_q : '0;

  always_comb begin
    own = '0;
    unique case ({s_axil_araddr[15:2], 2'b00})
      identity_regs_pkg::MagicOffset[15:0]: own = eddy_pkg::IdentityMagic;
      identity_regs_pkg::MagicOffset[15:0] + 16'd4: own = {16'(identity_regs_pkg::KindHls), RegMap};
      identity_regs_pkg::MagicOffset[15:0] + 16'd8: own = BuildHash[31:0];
      identity_regs_pkg::MagicOffset[15:0] + 16'd12: own = BuildHash[63:32];
      StatusAddr: own = {8'd0, status_q};
      default: ;
    endcase
    answer = '0;
    for (int unsigned i = 0; i < NumBundles; i++) if (read_to_q[i]) answer |= bundle_rdata_i[i];
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      read_q <= RdTake;
      ar_ready_q <= 1'b0;
      r_valid_q <= 1'b0;
      read_to_q <= '0;
      ar_left_q <= '0;
      bundle_araddr_o <= '0;
      s_axil_rdata <= '0;
    end else begin
      ar_ready_q <= read_q == RdTake && !(s_axil_arvalid && ar_ready_q);
      unique case (read_q)
        RdTake: begin
          if (s_axil_arvalid && ar_ready_q) begin
            read_q <= read_to != '0 ? RdPass : RdAnswer;
            r_valid_q <= read_to == '0;
            read_to_q <= read_to;
            ar_left_q <= read_to;
            bundle_araddr_o <= offset(s_axil_araddr, read_to);
            s_axil_rdata <= own;
          end
        end
        RdPass: begin
          ar_left_q <= ar_left_q & ~bundle_arready_i;
          if ((ar_left_q & ~bundle_arready_i) == '0) read_q <= RdWait;
        end
        RdWait: begin
          if ((bundle_rvalid_i & read_to_q) != '0) begin
            read_q <= RdAnswer;
            r_valid_q <= 1'b1;
            s_axil_rdata <= answer;
          end
        end
        default: begin
          if (s_axil_rready) begin
            read_q <= RdTake;
            r_valid_q <= 1'b0;
          end
        end
      endcase
    end
  end

endmodule
