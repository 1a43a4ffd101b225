// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
/// AXI4-Lite register block with the semantics of Xilinx HLS (`s_axilite`), and the identity block.
///
/// | offset | register |
/// |---|---|
/// | 0x00 | AP_CTRL: 0 start (set by writing 1, clears when the run is taken as done), 1 done (clears on read), 2 idle, 3 ready (clears on read), 7 auto_restart |
/// | 0x04 | GIE: 0 global interrupt enable |
/// | 0x08 | IER: 0 done, 1 ready |
/// | 0x0C | ISR: 0 done, 1 ready; set by the event where IER enables it, toggles on write |
/// | 0x10 | pointers: low word, high word, reserved; then scalars: value, reserved |
/// | then | status: value; control word with bit 0 valid (clears on read), as an HLS output |
/// | 0xF000 | identity block, read only |
///
/// Every other address reads zero and ignores writes; every access is answered OKAY. Write strobes
/// are honoured byte by byte. The interrupt is a level: GIE and any bit of ISR that IER enables.
/// One write and one read are taken at a time; all outputs are flops.
module hls_ctrl #(
  parameter int unsigned NumPointers = 2,
  parameter int unsigned NumScalars = 1,
  /// Register-map version, {major, minor}.
  parameter logic [15:0] RegMap = 16'h0100,
  parameter logic [63:0] BuildHash = '0
) (
  input  logic clk_i,
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

  output logic irq_o,

  /// AP_CTRL.start; stays set until `done_i`, and beyond it where auto_restart is set.
  output logic                         ap_start_o,
  input  logic                         ap_idle_i,
  /// A run ends in this cycle (done and ready coincide: runs do not overlap).
  input  logic                         ap_done_i,
  /// Sampled with `ap_done_i`.
  input  hls_pkg::status_t             status_i,
  output logic [NumPointers-1:0][63:0] pointers_o,
  output logic [NumScalars-1:0][31:0]  scalars_o
);
  import hls_pkg::*;

  localparam int unsigned StatusAddr = ArgBase + 12 * NumPointers + 8 * NumScalars;

  if (StatusAddr + 8 > 32'(identity_regs_pkg::MagicOffset)) begin : gen_check_args
    $fatal(1, "hls_ctrl: the arguments run into the identity block");
  end

  logic [15:0] waddr_q, waddr, raddr;
  logic [31:0] wdata_q, wmask;
  logic [3:0] wstrb_q;
  logic aw_held_q, w_held_q, write, read;

  assign waddr = {waddr_q[15:2], 2'b00};
  assign raddr = {s_axil_araddr[15:2], 2'b00};
  assign write = aw_held_q && w_held_q && !s_axil_bvalid;
  assign read  = s_axil_arvalid && s_axil_arready;
  assign wmask = {{8{wstrb_q[3]}}, {8{wstrb_q[2]}}, {8{wstrb_q[1]}}, {8{wstrb_q[0]}}};
  assign s_axil_bresp = eddy_pkg::RespOkay;
  assign s_axil_rresp = eddy_pkg::RespOkay;

  // Write channels: address and data are held as they come; the write happens when both are there.
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      aw_held_q      <= 1'b0;
      w_held_q       <= 1'b0;
      s_axil_awready <= 1'b0;
      s_axil_wready  <= 1'b0;
      s_axil_bvalid  <= 1'b0;
      waddr_q        <= '0;
      wdata_q        <= '0;
      wstrb_q        <= '0;
    end else begin
      if (s_axil_bvalid && s_axil_bready) s_axil_bvalid <= 1'b0;
      if (write) begin
        s_axil_bvalid <= 1'b1;
        aw_held_q     <= 1'b0;
        w_held_q      <= 1'b0;
      end
      s_axil_awready <= !aw_held_q || write;
      s_axil_wready  <= !w_held_q || write;
      if (s_axil_awvalid && s_axil_awready) begin
        aw_held_q      <= 1'b1;
        waddr_q        <= s_axil_awaddr;
        s_axil_awready <= 1'b0;
      end
      if (s_axil_wvalid && s_axil_wready) begin
        w_held_q      <= 1'b1;
        wdata_q       <= s_axil_wdata;
        wstrb_q       <= s_axil_wstrb;
        s_axil_wready <= 1'b0;
      end
    end
  end

  // Control registers. Where an event and an access meet, the event wins, as in HLS output.
  logic start_q, auto_q, done_q, ready_q, gie_q, idle_q;
  logic [1:0] ier_q, isr_q, events;
  status_t status_q;
  logic status_valid_q;

  assign ap_start_o = start_q;
  assign events = {2{ap_done_i}} & ier_q;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      start_q <= 1'b0;
      auto_q  <= 1'b0;
      done_q  <= 1'b0;
      ready_q <= 1'b0;
      idle_q  <= 1'b1;
      gie_q   <= 1'b0;
      ier_q   <= '0;
      isr_q   <= '0;
      irq_o   <= 1'b0;
      status_q       <= '0;
      status_valid_q <= 1'b0;
    end else begin
      idle_q <= ap_idle_i && !start_q;
      irq_o  <= gie_q && |(isr_q & ier_q);

      if (read && raddr == AddrApCtrl) begin
        done_q  <= 1'b0;
        ready_q <= 1'b0;
      end
      if (read && raddr == 16'(StatusAddr + 4)) status_valid_q <= 1'b0;

      if (ap_done_i) start_q <= auto_q;
      if (write && wstrb_q[0]) begin
        unique case (waddr)
          AddrApCtrl: begin
            if (wdata_q[0]) start_q <= 1'b1;
            auto_q <= wdata_q[7];
          end
          AddrGie: gie_q <= wdata_q[0];
          AddrIer: ier_q <= wdata_q[1:0];
          AddrIsr: isr_q <= isr_q ^ wdata_q[1:0];
          default: ;
        endcase
      end

      if (ap_done_i) begin
        done_q         <= 1'b1;
        ready_q        <= 1'b1;
        status_q       <= status_i;
        status_valid_q <= 1'b1;
      end
      if (events[0]) isr_q[0] <= 1'b1;
      if (events[1]) isr_q[1] <= 1'b1;
    end
  end

  // Arguments.
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      pointers_o <= '0;
      scalars_o  <= '0;
    end else if (write) begin
      for (int unsigned i = 0; i < NumPointers; i++) begin
        for (int unsigned half = 0; half < 2; half++) begin
          if (waddr == 16'(ArgBase + 12 * i + 4 * half)) begin
            pointers_o[i][32*half+:32] <= (pointers_o[i][32*half+:32] & ~wmask) | (wdata_q & wmask);
          end
        end
      end
      for (int unsigned i = 0; i < NumScalars; i++) begin
        if (waddr == 16'(ArgBase + 12 * NumPointers + 8 * i)) begin
          scalars_o[i] <= (scalars_o[i] & ~wmask) | (wdata_q & wmask);
        end
      end
    end
  end

  // Read channel.
  logic [31:0] rdata;
  always_comb begin
    rdata = '0;
    unique case (raddr)
      AddrApCtrl: rdata = {24'd0, auto_q, 3'd0, ready_q, idle_q && !start_q, done_q, start_q};
      AddrGie:    rdata = {31'd0, gie_q};
      AddrIer:    rdata = {30'd0, ier_q};
      AddrIsr:    rdata = {30'd0, isr_q};
      default:    ;
    endcase
    for (int unsigned i = 0; i < NumPointers; i++) begin
      for (int unsigned half = 0; half < 2; half++) begin
        if (raddr == 16'(ArgBase + 12 * i + 4 * half)) rdata = pointers_o[i][32*half+:32];
      end
    end
    for (int unsigned i = 0; i < NumScalars; i++) begin
      if (raddr == 16'(ArgBase + 12 * NumPointers + 8 * i)) rdata = scalars_o[i];
    end
    if (raddr == 16'(StatusAddr)) rdata = {29'd0, status_q};
    if (raddr == 16'(StatusAddr + 4)) rdata = {31'd0, status_valid_q};
    if (raddr[15:12] == IdentityPage) rdata = identity_word(raddr[11:2], RegMap, BuildHash);
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      s_axil_arready <= 1'b0;
      s_axil_rvalid  <= 1'b0;
      s_axil_rdata   <= '0;
    end else begin
      if (s_axil_rvalid && s_axil_rready) s_axil_rvalid <= 1'b0;
      s_axil_arready <= !read && (!s_axil_rvalid || s_axil_rready);
      if (read) begin
        s_axil_rvalid <= 1'b1;
        s_axil_rdata  <= rdata;
      end
    end
  end

  // Byte lanes within a word are chosen by the strobes; the low address bits say nothing more.
  logic unused;
  assign unused = ^{waddr_q[1:0], s_axil_araddr[1:0]};

endmodule
