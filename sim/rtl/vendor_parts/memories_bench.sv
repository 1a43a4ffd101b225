// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
/// The vendor's memories and what takes signals from clock to clock, each on the same inputs.
module memories_bench (
  input  logic clk_i,
  input  logic rst_i,
  input  logic [1:0] en_i,
  input  logic [1:0] regce_i,
  input  logic [1:0][3:0] addr_i,
  input  logic [1:0][1:0] we_i,
  input  logic [1:0][15:0] data_i,
  output logic [15:0] single_o,
  output logic [15:0] simple_o,
  output logic [1:0][15:0] true_o,
  output logic [15:0] only_read_o,
  output logic single_bit_o,
  output logic [15:0] bits_o,
  output logic [15:0] count_o,
  output logic [1:0] resets_o
);

  xpm_memory_spram #(
    .ADDR_WIDTH_A(4), .MEMORY_SIZE(256), .READ_DATA_WIDTH_A(16), .WRITE_DATA_WIDTH_A(16), .BYTE_WRITE_WIDTH_A(8),
    .READ_LATENCY_A(1), .WRITE_MODE_A("read_first")
  ) u_single (
    .sleep(1'b0), .clka(clk_i), .ena(en_i[0]), .addra(addr_i[0]), .wea(we_i[0]), .dina(data_i[0]), .rsta(rst_i),
    .regcea(1'b1), .douta(single_o), .injectsbiterra(1'b0), .injectdbiterra(1'b0), .sbiterra(), .dbiterra()
  );
  xpm_memory_sdpram #(
    .ADDR_WIDTH_A(4), .ADDR_WIDTH_B(4), .MEMORY_SIZE(256), .READ_DATA_WIDTH_B(16), .WRITE_DATA_WIDTH_A(16),
    .BYTE_WRITE_WIDTH_A(8), .READ_LATENCY_B(2)
  ) u_simple (
    .sleep(1'b0), .clka(clk_i), .ena(en_i[0]), .addra(addr_i[0]), .wea(we_i[0]), .dina(data_i[0]), .clkb(clk_i),
    .enb(en_i[1]), .addrb(addr_i[1]), .rstb(rst_i), .regceb(regce_i[1]), .doutb(simple_o), .injectsbiterra(1'b0),
    .injectdbiterra(1'b0), .sbiterrb(), .dbiterrb()
  );
  xpm_memory_tdpram #(
    .ADDR_WIDTH_A(4), .ADDR_WIDTH_B(4), .MEMORY_SIZE(256), .READ_DATA_WIDTH_A(16), .READ_DATA_WIDTH_B(16),
    .WRITE_DATA_WIDTH_A(16), .WRITE_DATA_WIDTH_B(16), .BYTE_WRITE_WIDTH_A(16), .BYTE_WRITE_WIDTH_B(16),
    .READ_LATENCY_A(1), .READ_LATENCY_B(3), .WRITE_MODE_A("write_first"), .WRITE_MODE_B("no_change")
  ) u_true (
    .sleep(1'b0), .clka(clk_i), .ena(en_i[0]), .addra(addr_i[0]), .wea(we_i[0][0]), .dina(data_i[0]), .rsta(rst_i),
    .regcea(regce_i[0]), .douta(true_o[0]), .clkb(clk_i), .enb(en_i[1]), .addrb(addr_i[1]), .web(we_i[1][0]),
    .dinb(data_i[1]), .rstb(rst_i), .regceb(regce_i[1]), .doutb(true_o[1]), .injectsbiterra(1'b0),
    .injectdbiterra(1'b0), .injectsbiterrb(1'b0), .injectdbiterrb(1'b0), .sbiterra(), .dbiterra(), .sbiterrb(),
    .dbiterrb()
  );
  xpm_memory_sprom #(
    .ADDR_WIDTH_A(4), .MEMORY_SIZE(256), .READ_DATA_WIDTH_A(16), .READ_LATENCY_A(0), .MEMORY_INIT_PARAM("1,aB,fFfF,0,9e3")
  ) u_only_read (
    .sleep(1'b0), .clka(clk_i), .ena(1'b1), .addra(addr_i[0]), .rsta(rst_i), .regcea(1'b1), .douta(only_read_o),
    .sbiterra(), .dbiterra()
  );

  xpm_cdc_single #(.DEST_SYNC_FF(2), .SRC_INPUT_REG(0)) u_bit (
    .src_clk(clk_i), .src_in(en_i[0]), .dest_clk(clk_i), .dest_out(single_bit_o)
  );
  xpm_cdc_array_single #(.DEST_SYNC_FF(2), .SRC_INPUT_REG(1), .WIDTH(16)) u_bits (
    .src_clk(clk_i), .src_in(data_i[0]), .dest_clk(clk_i), .dest_out(bits_o)
  );
  xpm_cdc_gray #(.DEST_SYNC_FF(2), .REG_OUTPUT(1), .WIDTH(16)) u_count (
    .src_clk(clk_i), .src_in_bin(data_i[0]), .dest_clk(clk_i), .dest_out_bin(count_o)
  );
  xpm_cdc_sync_rst #(.DEST_SYNC_FF(3)) u_sync (.src_rst(en_i[1]), .dest_clk(clk_i), .dest_rst(resets_o[0]));
  xpm_cdc_async_rst #(.DEST_SYNC_FF(3), .RST_ACTIVE_HIGH(0)) u_async (
    .src_arst(en_i[1]), .dest_clk(clk_i), .dest_arst(resets_o[1])
  );

endmodule
