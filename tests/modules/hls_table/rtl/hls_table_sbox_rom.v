// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
// A ROM, filled from a file as Vitis HLS has it.
`timescale 1 ns / 1 ps
module hls_table_sbox_rom (
address0, ce0, q0, reset, clk);

parameter DataWidth = 8;
parameter AddressWidth = 8;
parameter AddressRange = 256;

input [AddressWidth-1:0] address0;
input ce0;
output reg [DataWidth-1:0] q0;
input reset;
input clk;

reg [DataWidth-1:0] rom0[0:AddressRange-1];

initial begin
    $readmemh("./hls_table_sbox_rom.dat", rom0);
end

always @(posedge clk) begin
    if (ce0) begin
        q0 <= rom0[address0];
    end
end

endmodule
