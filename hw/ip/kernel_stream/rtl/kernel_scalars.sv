// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
/// Registers for a kernel's inputs that are no interface: words that read back what was written to them, and stay.
module kernel_scalars #(
  /// Words, 1 to 256.
  parameter int unsigned Words = 1
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

  output logic [Words-1:0][31:0] values_o
);

  if (Words < 1 || Words > 256) begin : gen_check_words
    $fatal(1, "kernel_scalars: Words must be 1 to 256");
  end

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
    end else begin
      if (write) bvalid_o <= 1'b1;
      else if (bready_i) bvalid_o <= 1'b0;
      if (read) rvalid_o <= 1'b1;
      else if (rready_i) rvalid_o <= 1'b0;
      if (read) rdata_o <= '0;
      for (int unsigned i = 0; i < Words; i++) begin
        if (read && araddr_i[15:2] == 14'(i)) rdata_o <= values_o[i];
        for (int unsigned lane = 0; lane < 4; lane++) begin
          if (write && awaddr_i[15:2] == 14'(i) && wstrb_i[lane]) values_o[i][8*lane+:8] <= wdata_i[8*lane+:8];
        end
      end
    end
  end

  logic unused;
  assign unused = ^{awaddr_i[1:0], araddr_i[1:0]};

endmodule
