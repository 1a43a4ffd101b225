// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
`include "axi_ports.svh"

// For simulation alone.
/// What partial reconfiguration puts into a slot: bound into the black box that the board's fabric has there.
///
/// Nothing at first: noise comes out until an image is in, as from fabric that is being written. Then the module; or a tenant's that
/// asks memory for whatever the bench says, with the attributes that it must not choose.
module slot_contents #(
  /// Build hash of the module, as its image says.
  parameter logic [63:0] BuildHash = `MODULE_BUILD
) (
  `include "slot_ports.svh"
);

  typedef enum logic [1:0] {Noise = 2'd0, Sound = 2'd1, Hostile = 2'd2} holds_e;
  // What the bench drives and reads.
  logic [1:0] holds;
  /// Edges of the slot's clock; whether the module is in reset.
  logic [31:0] ticks;
  logic in_reset;
  /// The hostile module's request: begins when `go` differs from `done`.
  logic go, done, is_write;
  logic [39:0] address;
  logic [7:0] length;
  logic [3:0] memory_context;
  logic [1:0] answer;

  initial begin
    holds = Noise;
    go = 1'b0;
    ticks = '0;
  end

  assign in_reset = !rst_ni;
  always_ff @(posedge clk_i) ticks <= ticks + 32'd1;

  `AXIL_NETS(sound_s_axil, 16, logic)
  `AXI_NETS(sound_m_axi, 4, 40, 64, logic)
  `AXI_ATTRIBUTE_NETS(sound_m_axi, 4, logic)
  logic sound_irq;

  `SLOT_MODULE #(
    .BuildHash(BuildHash)
  ) u_module (
    .clk_i,
    .rst_ni,
    `AXIL_CONNECT(s_axil, sound_s_axil,),
    `AXI_CONNECT(m_axi, sound_m_axi,),
    `AXI_CONNECT_ATTRIBUTES(m_axi, sound_m_axi,),
    .irq_o(sound_irq)
  );

  // Control goes to the module, which is in reset while there is none.
  assign sound_s_axil_awaddr = s_axil_awaddr;
  assign sound_s_axil_awprot = s_axil_awprot;
  assign sound_s_axil_awvalid = s_axil_awvalid && holds != Noise;
  assign sound_s_axil_wdata = s_axil_wdata;
  assign sound_s_axil_wstrb = s_axil_wstrb;
  assign sound_s_axil_wvalid = s_axil_wvalid && holds != Noise;
  assign sound_s_axil_bready = s_axil_bready;
  assign sound_s_axil_araddr = s_axil_araddr;
  assign sound_s_axil_arprot = s_axil_arprot;
  assign sound_s_axil_arvalid = s_axil_arvalid && holds != Noise;
  assign sound_s_axil_rready = s_axil_rready;

  logic [31:0] noise_q = 32'h0BAD_5EED;
  always_ff @(posedge clk_i) noise_q <= {noise_q[30:0], noise_q[31] ^ noise_q[21] ^ noise_q[1] ^ noise_q[0]};

  typedef enum logic [2:0] {Rest, Asks, Writes, Waits} state_e;
  state_e state_q;
  logic [7:0] beat_q;
  logic hostile, ends;
  assign hostile = holds == Hostile;
  assign ends = is_write ? m_axi_bvalid : m_axi_rvalid && m_axi_rlast;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      state_q <= Rest;
      done <= go;
    end else begin
      unique case (state_q)
        Rest: begin
          beat_q <= '0;
          if (hostile && go != done) begin
            answer <= '0;
            state_q <= Asks;
          end
        end
        Asks: if (is_write ? m_axi_awready : m_axi_arready) state_q <= is_write ? Writes : Waits;
        Writes: if (m_axi_wready) begin
          beat_q <= beat_q + 8'd1;
          if (beat_q == length) state_q <= Waits;
        end
        default: begin
          if (m_axi_rvalid && m_axi_rresp > answer) answer <= m_axi_rresp;
          if (m_axi_bvalid) answer <= m_axi_bresp;
          if (ends) begin
            done <= go;
            state_q <= Rest;
          end
        end
      endcase
    end
  end

  always_comb begin
    s_axil_awready = sound_s_axil_awready;
    s_axil_wready = sound_s_axil_wready;
    s_axil_bresp = sound_s_axil_bresp;
    s_axil_bvalid = sound_s_axil_bvalid;
    s_axil_arready = sound_s_axil_arready;
    s_axil_rdata = sound_s_axil_rdata;
    s_axil_rresp = sound_s_axil_rresp;
    s_axil_rvalid = sound_s_axil_rvalid;
    m_axi_awid = sound_m_axi_awid;
    m_axi_awaddr = sound_m_axi_awaddr;
    m_axi_awlen = sound_m_axi_awlen;
    m_axi_awsize = sound_m_axi_awsize;
    m_axi_awburst = sound_m_axi_awburst;
    m_axi_awcache = sound_m_axi_awcache;
    m_axi_awprot = sound_m_axi_awprot;
    m_axi_awqos = sound_m_axi_awqos;
    m_axi_awuser = sound_m_axi_awuser;
    m_axi_awvalid = sound_m_axi_awvalid;
    m_axi_wdata = sound_m_axi_wdata;
    m_axi_wstrb = sound_m_axi_wstrb;
    m_axi_wlast = sound_m_axi_wlast;
    m_axi_wvalid = sound_m_axi_wvalid;
    m_axi_bready = sound_m_axi_bready;
    m_axi_arid = sound_m_axi_arid;
    m_axi_araddr = sound_m_axi_araddr;
    m_axi_arlen = sound_m_axi_arlen;
    m_axi_arsize = sound_m_axi_arsize;
    m_axi_arburst = sound_m_axi_arburst;
    m_axi_arcache = sound_m_axi_arcache;
    m_axi_arprot = sound_m_axi_arprot;
    m_axi_arqos = sound_m_axi_arqos;
    m_axi_aruser = sound_m_axi_aruser;
    m_axi_arvalid = sound_m_axi_arvalid;
    m_axi_rready = sound_m_axi_rready;
    irq_o = sound_irq;
    if (holds == Noise) begin
      {s_axil_awready, s_axil_wready, s_axil_bvalid, s_axil_arready, s_axil_rvalid} = noise_q[4:0];
      {m_axi_awvalid, m_axi_wvalid, m_axi_bready, m_axi_arvalid, m_axi_rready, irq_o} = noise_q[10:5];
      {m_axi_awaddr, m_axi_araddr} = {noise_q, noise_q, noise_q[15:0]};
      {m_axi_awprot, m_axi_arprot, m_axi_awcache, m_axi_arcache} = noise_q[13:0];
    end
    if (hostile) begin
      // Secure, coherent, first of all, with the highest id.
      m_axi_awid = '1;
      m_axi_awaddr = address;
      m_axi_awlen = length;
      m_axi_awsize = 3'd3;
      m_axi_awburst = 2'b01;
      m_axi_awcache = 4'b1111;
      m_axi_awprot = 3'b001;
      m_axi_awqos = '1;
      m_axi_awuser = memory_context;
      m_axi_awvalid = state_q == Asks && is_write;
      m_axi_wdata = 64'h6666_6666_6666_6666;
      m_axi_wstrb = '1;
      m_axi_wlast = beat_q == length;
      m_axi_wvalid = state_q == Writes;
      m_axi_bready = 1'b1;
      m_axi_arid = '1;
      m_axi_araddr = address;
      m_axi_arlen = length;
      m_axi_arsize = 3'd3;
      m_axi_arburst = 2'b01;
      m_axi_arcache = 4'b1111;
      m_axi_arprot = 3'b001;
      m_axi_arqos = '1;
      m_axi_aruser = memory_context;
      m_axi_arvalid = state_q == Asks && !is_write;
      m_axi_rready = 1'b1;
    end
  end

  assign sound_m_axi_awready = m_axi_awready && !hostile;
  assign sound_m_axi_wready = m_axi_wready && !hostile;
  assign sound_m_axi_bid = m_axi_bid;
  assign sound_m_axi_bresp = m_axi_bresp;
  assign sound_m_axi_bvalid = m_axi_bvalid && !hostile;
  assign sound_m_axi_arready = m_axi_arready && !hostile;
  assign sound_m_axi_rid = m_axi_rid;
  assign sound_m_axi_rdata = m_axi_rdata;
  assign sound_m_axi_rresp = m_axi_rresp;
  assign sound_m_axi_rlast = m_axi_rlast;
  assign sound_m_axi_rvalid = m_axi_rvalid && !hostile;

endmodule

bind slot slot_contents u_contents (
  .clk_i(clk_i),
  .rst_ni(rst_ni),
  `AXIL_CONNECT(s_axil, s_axil,),
  `AXI_CONNECT(m_axi, m_axi,),
  `AXI_CONNECT_ATTRIBUTES(m_axi, m_axi,),
  .irq_o(irq_o)
);
