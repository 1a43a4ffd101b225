// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
/// Interrupt controller with the registers of the Xilinx AXI INTC, level inputs, so that stock drivers work it.
///
/// Once hardware interrupts are enabled (MER.hie), ISR follows the inputs. Xilinx' core keeps a level that has gone low
/// until it is acknowledged; PYNQ acknowledges before its caller clears the source, so the next wait would end at once,
/// with nothing done. What software set before the hardware took over stays until it is acknowledged.
/// `irq_o` is one cycle behind `MER.me && (ISR & IER) != 0`.
///
/// Ref: AMD PG099, AXI Interrupt Controller v4.1, "Register Space". Absent: vectors, ILR, IMR, nesting, edge inputs.
module axi_intc
  import axi_intc_regs_pkg::*;
(
  input  logic        clk_i,
  /// Synchronous reset, active low.
  input  logic        rst_ni,
  input  logic [31:0] irq_i,
  output logic        irq_o,

  input  logic        sel_i,
  input  logic        write_i,
  input  logic [15:2] addr_i,
  input  logic [31:0] wdata_i,
  output logic        ack_o,
  output logic        err_o,
  output logic [31:0] rdata_o
);

  logic [31:0] level_q, software_q, ier_q, rdata_q, rdata_d, isr, pending, lowest;
  logic me_q, hie_q, irq_q, ack_q, err_q, err_d;

  assign isr = level_q | software_q;
  assign pending = isr & ier_q;
  // By a carry chain: a search in turn would be as deep as there are inputs.
  assign lowest = pending & -pending;

  always_comb begin
    rdata_d = '0;
    err_d = 1'b0;
    if (sel_i) begin
      case ({addr_i, 2'b00})
        IsrOffset: rdata_d = isr;
        IprOffset: rdata_d = pending;
        IerOffset: rdata_d = ier_q;
        IvrOffset: begin
          rdata_d = pending == '0 ? '1 : '0;
          for (int i = 0; i < 32; i++) if (lowest[i]) rdata_d |= 32'(i);
        end
        MerOffset: rdata_d = {30'd0, hie_q, me_q};
        IarOffset, SieOffset, CieOffset: rdata_d = '0;
        default: err_d = 1'b1;
      endcase
    end
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      level_q <= '0;
      software_q <= '0;
      ier_q <= '0;
      me_q <= 1'b0;
      hie_q <= 1'b0;
      irq_q <= 1'b0;
      ack_q <= 1'b0;
      err_q <= 1'b0;
      rdata_q <= '0;
    end else begin
      ack_q <= sel_i;
      irq_q <= me_q && pending != '0;
      if (hie_q) level_q <= irq_i;
      if (sel_i) begin
        rdata_q <= rdata_d;
        err_q <= err_d;
        if (write_i) begin
          case ({addr_i, 2'b00})
            // Software interrupts, until the hardware takes over.
            IsrOffset: if (!hie_q) software_q <= software_q | wdata_i;
            IerOffset: ier_q <= wdata_i;
            IarOffset: software_q <= software_q & ~wdata_i;
            SieOffset: ier_q <= ier_q | wdata_i;
            CieOffset: ier_q <= ier_q & ~wdata_i;
            MerOffset: begin
              me_q <= wdata_i[0];
              hie_q <= hie_q || wdata_i[1];
            end
            default: ;
          endcase
        end
      end
    end
  end

  assign irq_o = irq_q;
  assign ack_o = ack_q;
  assign err_o = err_q;
  assign rdata_o = rdata_q;

`ifndef SYNTHESIS
  always_ff @(posedge clk_i) begin
    if (rst_ni) begin
      SilentWhileDisabled_A :
      assert (!$past(rst_ni) || !irq_q || $past(me_q))
      else $error("axi_intc: interrupt without master enable");
    end
  end
`endif

endmodule
