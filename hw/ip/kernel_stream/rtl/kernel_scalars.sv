// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
/// Registers for a kernel's ports that are no interface. Of inputs, words that read back what was written to them, as far as the
/// port has bits, and stay; behind them, of outputs, words that hold what the kernel gave when it said so.
module kernel_scalars #(
  /// Words of inputs, and of outputs; together 1 to 1024.
  parameter int unsigned Words = 1,
  parameter int unsigned Results = 0,
  /// Derived: what widths take that may not be zero.
  localparam int unsigned WordsWide = Words == 0 ? 1 : Words,
  localparam int unsigned ResultsWide = Results == 0 ? 1 : Results,
  /// Bits of each input word that there are; the others read zero.
  parameter logic [WordsWide-1:0][31:0] Kept = '1
) (
  input  logic clk_i,
  /// Synchronous reset, active low.
  input  logic rst_ni,

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
  output logic [31:0] rdata_o,
  output logic        rvalid_o,
  input  logic        rready_i,

  /// What the kernel gives, and whether a word of it is to be held from here on.
  input  logic [ResultsWide-1:0][31:0] results_i,
  input  logic [ResultsWide-1:0]       take_i,

  output logic [WordsWide-1:0][31:0] values_o
);

  if (Words + Results < 1 || Words + Results > 1024) begin : gen_check_words
    $fatal(1, "kernel_scalars: Words and Results must be 1 to 1024 together");
  end

  logic [ResultsWide-1:0][31:0] results_q;

  logic write, read;

  assign write = awvalid_i && wvalid_i && !bvalid_o;
  assign read = arvalid_i && !rvalid_o;
  assign awready_o = write;
  assign wready_o = write;
  assign arready_o = read;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      bvalid_o <= 1'b0;
      rvalid_o <= 1'b0;
      rdata_o <= '0;
      values_o <= '0;
      results_q <= '0;
    end else begin
      if (write) bvalid_o <= 1'b1;
      else if (bready_i) bvalid_o <= 1'b0;
      if (read) rvalid_o <= 1'b1;
      else if (rready_i) rvalid_o <= 1'b0;
      if (read) rdata_o <= '0;
      for (int i = 0; i < int'(Words); i++) begin
        if (read && araddr_i[15:2] == 14'(i)) rdata_o <= values_o[i];
        for (int unsigned lane = 0; lane < 4; lane++) begin
          if (write && awaddr_i[15:2] == 14'(i) && wstrb_i[lane]) begin
            values_o[i][8*lane+:8] <= wdata_i[8*lane+:8] & Kept[i][8*lane+:8];
          end
        end
      end
      for (int i = 0; i < int'(Results); i++) begin
        if (take_i[i]) results_q[i] <= results_i[i];
        if (read && araddr_i[15:2] == 14'(Words + i)) rdata_o <= results_q[i];
      end
    end
  end

  logic unused;
  assign unused = ^{awaddr_i[1:0], araddr_i[1:0], results_i, take_i};

endmodule
