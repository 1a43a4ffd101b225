// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
`include "axi_ports.svh"

/// Parts the processor's register accesses between the shell and the slots' clocking wizards, which lie beside it.
///
/// Wizard k answers from 0x020000 + k * 0x1000 on (`window_addr_pkg`); everything else is the shell's, wizards that there
/// are not included, so every access is answered. One read and one write are under way at a time, whole: an access is taken
/// when address and data are there, and its answer is given before the next is taken. Every output is a flop, but for the
/// address and data, which are those of the access under way.
module reg_split #(
  /// Wizards, 1 to 10.
  parameter int unsigned NumSlots = 4
) (
  input  logic clk_i,
  /// Synchronous reset, active low.
  input  logic rst_ni,

  // The processor.
  `AXIL_PORTS(s_axil, 24, input logic, output logic),

  // Target k: wizard k; the last one: the shell. Address, protection and data are the same for all.
  `AXIL_PAYLOAD_PORTS(m_axil, 24, output logic),
  `AXIL_HANDSHAKE_PORTS(m_axil, output logic [NumSlots:0], input logic [NumSlots:0])
);

  if (NumSlots < 1 || NumSlots > 10) begin : gen_check_slots
    $fatal(1, "reg_split: NumSlots must be 1 to 10");
  end

  /// First wizard's page of 4 KiB, as bits 23 to 12 of an address.
  localparam logic [11:0] FirstPage = window_addr_pkg::WizardOffset[23:12];

  /// Which target a page of 4 KiB is of, one bit for each.
  function automatic logic [NumSlots:0] target(logic [11:0] page);
    target = '0;
    target[NumSlots] = 1'b1;
    for (int unsigned k = 0; k < NumSlots; k++) begin
      if (page == FirstPage + 12'(k)) begin
        target[k] = 1'b1;
        target[NumSlots] = 1'b0;
      end
    end
  endfunction

  logic write_taken, read_taken;

  // Writes: `to` says whose the one under way is; the answer is held until it is taken.
  logic [NumSlots:0] write_to_q, aw_valid_q, w_valid_q;
  logic write_busy_q, b_valid_q;
  logic [23:0] awaddr_q;
  logic [2:0] awprot_q;
  logic [31:0] wdata_q;
  logic [3:0] wstrb_q;
  logic [1:0] bresp_q;
  logic [1:0] bresp;

  assign write_taken = s_axil_awvalid && s_axil_wvalid && !write_busy_q;
  assign m_axil_awaddr = awaddr_q;
  assign m_axil_awprot = awprot_q;
  assign m_axil_awvalid = aw_valid_q;
  assign m_axil_wdata = wdata_q;
  assign m_axil_wstrb = wstrb_q;
  assign m_axil_wvalid = w_valid_q;
  assign m_axil_bready = write_busy_q && !b_valid_q ? write_to_q : '0;
  assign s_axil_bvalid = b_valid_q;
  assign s_axil_bresp = bresp_q;

  always_comb begin
    bresp = '0;
    for (int unsigned k = 0; k <= NumSlots; k++) begin
      if (write_to_q[k]) bresp |= m_axil_bresp[k];
    end
  end

  always_ff @(posedge clk_i) begin
    s_axil_awready <= write_taken;
    s_axil_wready <= write_taken;
    if (write_taken) begin
      write_busy_q <= 1'b1;
      write_to_q <= target(s_axil_awaddr[23:12]);
      aw_valid_q <= target(s_axil_awaddr[23:12]);
      w_valid_q <= target(s_axil_awaddr[23:12]);
      awaddr_q <= s_axil_awaddr;
      awprot_q <= s_axil_awprot;
      wdata_q <= s_axil_wdata;
      wstrb_q <= s_axil_wstrb;
    end else begin
      aw_valid_q <= aw_valid_q & ~m_axil_awready;
      w_valid_q <= w_valid_q & ~m_axil_wready;
    end
    if (|(m_axil_bvalid & m_axil_bready)) begin
      b_valid_q <= 1'b1;
      bresp_q <= bresp;
    end
    if (s_axil_bvalid && s_axil_bready) begin
      b_valid_q <= 1'b0;
      write_busy_q <= 1'b0;
    end
    if (!rst_ni) begin
      s_axil_awready <= 1'b0;
      s_axil_wready <= 1'b0;
      write_busy_q <= 1'b0;
      aw_valid_q <= '0;
      w_valid_q <= '0;
      b_valid_q <= 1'b0;
    end
  end

  // Reads, likewise.
  logic [NumSlots:0] read_to_q, ar_valid_q;
  logic read_busy_q, r_valid_q;
  logic [23:0] araddr_q;
  logic [2:0] arprot_q;
  logic [31:0] rdata_q, rdata;
  logic [1:0] rresp_q, rresp;

  assign read_taken = s_axil_arvalid && !read_busy_q;
  assign m_axil_araddr = araddr_q;
  assign m_axil_arprot = arprot_q;
  assign m_axil_arvalid = ar_valid_q;
  assign m_axil_rready = read_busy_q && !r_valid_q ? read_to_q : '0;
  assign s_axil_rvalid = r_valid_q;
  assign s_axil_rdata = rdata_q;
  assign s_axil_rresp = rresp_q;

  always_comb begin
    rdata = '0;
    rresp = '0;
    for (int unsigned k = 0; k <= NumSlots; k++) begin
      if (read_to_q[k]) begin
        rdata |= m_axil_rdata[k];
        rresp |= m_axil_rresp[k];
      end
    end
  end

  always_ff @(posedge clk_i) begin
    s_axil_arready <= read_taken;
    if (read_taken) begin
      read_busy_q <= 1'b1;
      read_to_q <= target(s_axil_araddr[23:12]);
      ar_valid_q <= target(s_axil_araddr[23:12]);
      araddr_q <= s_axil_araddr;
      arprot_q <= s_axil_arprot;
    end else begin
      ar_valid_q <= ar_valid_q & ~m_axil_arready;
    end
    if (|(m_axil_rvalid & m_axil_rready)) begin
      r_valid_q <= 1'b1;
      rdata_q <= rdata;
      rresp_q <= rresp;
    end
    if (s_axil_rvalid && s_axil_rready) begin
      r_valid_q <= 1'b0;
      read_busy_q <= 1'b0;
    end
    if (!rst_ni) begin
      s_axil_arready <= 1'b0;
      read_busy_q <= 1'b0;
      ar_valid_q <= '0;
      r_valid_q <= 1'b0;
    end
  end

`ifndef SYNTHESIS
  OneTargetIsWritten_A : assert property (@(posedge clk_i) disable iff (!rst_ni) write_busy_q |-> $onehot(write_to_q));
  OneTargetIsRead_A : assert property (@(posedge clk_i) disable iff (!rst_ni) read_busy_q |-> $onehot(read_to_q));
`endif

endmodule
