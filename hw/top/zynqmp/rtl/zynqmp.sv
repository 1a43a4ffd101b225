// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
`include "axi_ports.svh"

/// A board's fabric: the processing system, the shell, a clock for each slot, and the slots.
///
/// Nothing leaves by a pin. Slots are black boxes (`slot`), each a reconfigurable partition; so are the clocking wizards
/// (`slot_clock`, which the build makes), one for each slot, beside the shell, in the window that `window_addr_pkg` says. The
/// configuration port has a clock of its own, at twice the rate of the shell's (`port_clock`, a wizard without registers).
module zynqmp #(
  /// Slots, 1 to 10.
  parameter int unsigned NumSlots = 4,
  /// Hash of sources and toolchain, for software to check.
  parameter logic [63:0] BuildHash = '0,
  /// As the shell's, from the board's profile.
  parameter int unsigned CacheBytes = 0,
  parameter bit          Engine = 1'b1,
  parameter bit          Streams = 1'b0,
  parameter int unsigned MemRequests = 8,
  parameter int unsigned MemBeats = 32
) ();

  logic clk, port_clk, rst_n, irq, cfg_avail, cfg_prdone, cfg_prerror;
  logic icap_csib, icap_rdwrb;
  logic [31:0] icap_i, icap_o;
  `AXIL_NETS(ps, 24, logic)

  // To wizard k; the last one: the shell.
  `AXIL_PAYLOAD_NETS(reg, 24, logic)
  `AXIL_HANDSHAKE_NETS(reg, logic [NumSlots:0])

  `AXI_NETS(mem, 8, 40, 64, logic)
  // What the shell says of attributes stops here: `ps_hp` has its own.
  `AXI_ATTRIBUTE_NETS(mem, 8, logic)

  logic [NumSlots-1:0] slot_clk, slot_rst_n, slot_irq;
  `AXIL_NETS(slot_s_axil, 16, logic [NumSlots-1:0])
  `AXI_NETS(slot_m_axi, 4, 40, 64, logic [NumSlots-1:0])
  `AXI_ATTRIBUTE_NETS(slot_m_axi, 4, logic [NumSlots-1:0])

  port_clock u_port_clock (
    .clk_in1(clk),
    .clk_out1(port_clk)
  );

  zynqmp_ps u_ps (
    .clk_o(clk),
    .rst_no(rst_n),
    .port_clk_i(port_clk),
    `AXIL_CONNECT(m_axil, ps,),
    `AXI_CONNECT(s_axi, mem,),
    .irq_i(irq),
    .icap_csib_i(icap_csib),
    .icap_rdwrb_i(icap_rdwrb),
    .icap_i_i(icap_i),
    .icap_o_o(icap_o),
    .cfg_avail_o(cfg_avail),
    .cfg_prdone_o(cfg_prdone),
    .cfg_prerror_o(cfg_prerror)
  );

  reg_split #(
    .NumSlots(NumSlots)
  ) u_reg_split (
    .clk_i(clk),
    .rst_ni(rst_n),
    `AXIL_CONNECT(s_axil, ps,),
    `AXIL_CONNECT(m_axil, reg,)
  );

  // For simulators alone.
  logic bus_wake, engine_busy;
  logic [NumSlots-1:0] path_wake;

  shell #(
    .NumSlots(NumSlots),
    .BuildHash(BuildHash),
    .CacheBytes(CacheBytes),
    .Engine(Engine),
    .Streams(Streams),
    .MemRequests(MemRequests),
    .MemBeats(MemBeats)
  ) u_shell (
    .clk_i(clk),
    .rst_ni(rst_n),
    `AXIL_CONNECT_PAYLOAD(s_axil, reg,),
    `AXIL_CONNECT_HANDSHAKE(s_axil, reg, [NumSlots]),
    `AXI_CONNECT(m_axi, mem,),
    `AXI_CONNECT_ATTRIBUTES(m_axi, mem,),
    .cfg_avail_i(cfg_avail),
    .cfg_prdone_i(cfg_prdone),
    .cfg_prerror_i(cfg_prerror),
    .icap_clk_i(port_clk),
    .icap_csib_o(icap_csib),
    .icap_rdwrb_o(icap_rdwrb),
    .icap_i_o(icap_i),
    .icap_o_i(icap_o),
    .engine_busy_o(engine_busy),
    .irq_o(irq),
    .bus_clk_i(clk),
    .bus_wake_o(bus_wake),
    .path_clk_i({NumSlots{clk}}),
    .path_wake_o(path_wake),
    .slot_clk_i(slot_clk),
    .slot_rst_no(slot_rst_n),
    `AXIL_CONNECT(slot_s_axil, slot_s_axil,),
    `AXI_CONNECT(slot_m_axi, slot_m_axi,),
    `AXI_CONNECT_ATTRIBUTES(slot_m_axi, slot_m_axi,),
    .slot_irq_i(slot_irq)
  );

  logic [NumSlots-1:0] locked;

  for (genvar k = 0; k < int'(NumSlots); k++) begin : gen_slots
    // Software reads whether it is locked, by the wizard's registers (PG065); the slot is decoupled while it is not.
    slot_clock u_clock (
      .s_axi_aclk(clk),
      .s_axi_aresetn(rst_n),
      .s_axi_awaddr(reg_awaddr[10:0]),
      .s_axi_wdata(reg_wdata),
      .s_axi_wstrb(reg_wstrb),
      .s_axi_araddr(reg_araddr[10:0]),
      `AXIL_CONNECT_HANDSHAKE(s_axi, reg, [k]),
      .clk_in1(clk),
      .clk_out1(slot_clk[k]),
      .locked(locked[k])
    );

    slot u_slot (
      .clk_i(slot_clk[k]),
      .rst_ni(slot_rst_n[k]),
      `AXIL_CONNECT(s_axil, slot_s_axil, [k]),
      `AXI_CONNECT(m_axi, slot_m_axi, [k]),
      `AXI_CONNECT_ATTRIBUTES(m_axi, slot_m_axi, [k]),
      .irq_o(slot_irq[k])
    );
  end

  logic unused;
  assign unused = ^{
    mem_awcache, mem_awprot, mem_awqos, mem_awuser, mem_arcache, mem_arprot, mem_arqos, mem_aruser, bus_wake, path_wake,
    engine_busy, locked
  };

endmodule
