// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
/// Starts a kernel by a bit in a register of its own, and looks at another bit for its end, between the accesses of others.
///
/// At `go_i` it writes `StartValue`, then reads the register of done every `PollCycles` cycles until the bit `DoneMask` is set
/// (clear, where `DoneLow`). Then it writes what is left to be written (`Release`: zero where the start was; `Acknowledge`: its
/// value) and pulses `done_o`. `stop_i` ends that, when no access of its own is under way. One access at a time in each direction.
module kernel_poke #(
  parameter logic [15:0] StartAddr = 16'h0000,
  parameter logic [31:0] StartValue = 32'd1,
  parameter logic [15:0] DoneAddr = 16'h0000,
  parameter logic [31:0] DoneMask = 32'd2,
  parameter bit DoneLow = 1'b0,
  parameter bit Release = 1'b0,
  parameter bit Acknowledge = 1'b0,
  parameter logic [15:0] AcknowledgeAddr = 16'h0000,
  parameter logic [31:0] AcknowledgeValue = 32'h10,
  /// Cycles between two looks at done.
  parameter int unsigned PollCycles = 8
) (
  input  logic clk_i,
  /// Synchronous reset, active low.
  input  logic rst_ni,

  input  logic go_i,
  input  logic stop_i,
  output logic done_o,
  /// No access is under way, of whomever.
  output logic quiet_o,

  /// From the slot.
  input  logic [15:0] awaddr_i,
  input  logic        awvalid_i,
  output logic        awready_o,
  input  logic [31:0] wdata_i,
  input  logic [3:0]  wstrb_i,
  input  logic        wvalid_i,
  output logic        wready_o,
  output logic        bvalid_o,
  input  logic        bready_i,
  input  logic [15:0] araddr_i,
  input  logic        arvalid_i,
  output logic        arready_o,
  output logic        rvalid_o,
  input  logic        rready_i,

  /// To the kernel; what it reads goes past here, too.
  output logic [15:0] awaddr_o,
  output logic        awvalid_o,
  input  logic        awready_i,
  output logic [31:0] wdata_o,
  output logic [3:0]  wstrb_o,
  output logic        wvalid_o,
  input  logic        wready_i,
  input  logic        bvalid_i,
  output logic        bready_o,
  output logic [15:0] araddr_o,
  output logic        arvalid_o,
  input  logic        arready_i,
  input  logic [31:0] rdata_i,
  input  logic        rvalid_i,
  output logic        rready_o
);

  typedef enum logic [2:0] {Rest, Start, Wait, Look, Release_, Acknowledge_, Tell} step_e;
  localparam int unsigned PollWidth = $clog2(PollCycles + 1);

  step_e step_q;
  logic [PollWidth-1:0] wait_q;
  logic write, wrote, read, came, is_done;

  // Accesses of the others and of its own exclude each other, each way.
  logic own_write_q, own_read_q, aw_left_q, w_left_q, ar_left_q, other_write_q, other_read_q;
  logic [15:0] awaddr_q;
  logic [31:0] wdata_q;

  assign write = step_q == Start || step_q == Release_ || step_q == Acknowledge_;
  assign read = step_q == Look;
  assign wrote = own_write_q && bvalid_i && bready_o;
  assign came = own_read_q && rvalid_i && rready_o;
  assign is_done = ((rdata_i & DoneMask) != '0) != DoneLow;
  assign quiet_o = !own_write_q && !own_read_q && !other_write_q && !other_read_q && !awvalid_i && !wvalid_i && !arvalid_i;
  assign done_o = step_q == Tell;

  assign awaddr_o = own_write_q ? awaddr_q : awaddr_i;
  assign wdata_o = own_write_q ? wdata_q : wdata_i;
  assign wstrb_o = own_write_q ? 4'hF : wstrb_i;
  assign awvalid_o = own_write_q ? aw_left_q : awvalid_i;
  assign wvalid_o = own_write_q ? w_left_q : wvalid_i;
  assign bready_o = own_write_q ? !aw_left_q && !w_left_q : bready_i;
  assign awready_o = awready_i && !own_write_q;
  assign wready_o = wready_i && !own_write_q;
  assign bvalid_o = bvalid_i && !own_write_q;
  assign araddr_o = own_read_q ? DoneAddr : araddr_i;
  assign arvalid_o = own_read_q ? ar_left_q : arvalid_i;
  assign rready_o = own_read_q ? !ar_left_q : rready_i;
  assign arready_o = arready_i && !own_read_q;
  assign rvalid_o = rvalid_i && !own_read_q;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      own_write_q <= 1'b0;
      own_read_q <= 1'b0;
      aw_left_q <= 1'b0;
      w_left_q <= 1'b0;
      ar_left_q <= 1'b0;
      other_write_q <= 1'b0;
      other_read_q <= 1'b0;
      awaddr_q <= '0;
      wdata_q <= '0;
    end else begin
      other_write_q <= !own_write_q && (other_write_q || awvalid_i || wvalid_i) && !(bvalid_i && bready_i);
      other_read_q <= !own_read_q && (other_read_q || arvalid_i) && !(rvalid_i && rready_i);
      if (own_write_q) begin
        if (awready_i) aw_left_q <= 1'b0;
        if (wready_i) w_left_q <= 1'b0;
        if (wrote) own_write_q <= 1'b0;
      end else if (write && !stop_i && !other_write_q && !awvalid_i && !wvalid_i) begin
        own_write_q <= 1'b1;
        aw_left_q <= 1'b1;
        w_left_q <= 1'b1;
        awaddr_q <= step_q == Acknowledge_ ? AcknowledgeAddr : StartAddr;
        wdata_q <= step_q == Acknowledge_ ? AcknowledgeValue : step_q == Release_ ? '0 : StartValue;
      end
      if (own_read_q) begin
        if (arready_i) ar_left_q <= 1'b0;
        if (came) own_read_q <= 1'b0;
      end else if (read && !stop_i && !other_read_q && !arvalid_i) begin
        own_read_q <= 1'b1;
        ar_left_q <= 1'b1;
      end
    end
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      step_q <= Rest;
      wait_q <= '0;
    end else if (stop_i && !own_write_q && !own_read_q) begin
      step_q <= Rest;
    end else begin
      unique case (step_q)
        Rest: if (go_i) step_q <= Start;
        Start: begin
          wait_q <= PollWidth'(PollCycles);
          if (wrote) step_q <= Wait;
        end
        Wait: begin
          wait_q <= wait_q - PollWidth'(1);
          if (wait_q == '0) step_q <= Look;
        end
        Look: begin
          wait_q <= PollWidth'(PollCycles);
          if (came) step_q <= !is_done ? Wait : Release ? Release_ : Acknowledge ? Acknowledge_ : Tell;
        end
        Release_: if (wrote) step_q <= Acknowledge ? Acknowledge_ : Tell;
        Acknowledge_: if (wrote) step_q <= Tell;
        default: step_q <= Rest;
      endcase
    end
  end

endmodule
