// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
/// A memory of two ports by the name, ports and parameters
/// of AMD's `xpm_memory_tdpram` (Ref: UG974), around `xpm_memory_parts`.
module xpm_memory_tdpram #(
  parameter int ADDR_WIDTH_A = 6,
  parameter int BYTE_WRITE_WIDTH_A = 32,
  parameter int WRITE_DATA_WIDTH_A = 32,
  parameter int READ_DATA_WIDTH_A = 32,
  parameter int READ_LATENCY_A = 2,
  parameter string READ_RESET_VALUE_A = "0",
  parameter string WRITE_MODE_A = "no_change",
  parameter string RST_MODE_A = "SYNC",
  parameter int ADDR_WIDTH_B = 6,
  parameter int BYTE_WRITE_WIDTH_B = 32,
  parameter int WRITE_DATA_WIDTH_B = 32,
  parameter int READ_DATA_WIDTH_B = 32,
  parameter int READ_LATENCY_B = 2,
  parameter string READ_RESET_VALUE_B = "0",
  parameter string WRITE_MODE_B = "no_change",
  parameter string RST_MODE_B = "SYNC",
  parameter int AUTO_SLEEP_TIME = 0,
  parameter int CASCADE_HEIGHT = 0,
  parameter string ECC_MODE = "no_ecc",
  parameter string ECC_BIT_RANGE = "7:0",
  parameter string ECC_TYPE = "none",
  parameter int IGNORE_INIT_SYNTH = 0,
  parameter string MEMORY_INIT_FILE = "none",
  parameter string MEMORY_INIT_PARAM = "0",
  parameter string MEMORY_OPTIMIZATION = "true",
  parameter string MEMORY_PRIMITIVE = "auto",
  parameter int MEMORY_SIZE = 2048,
  parameter int MESSAGE_CONTROL = 0,
  parameter string RAM_DECOMP = "auto",
  parameter int SIM_ASSERT_CHK = 0,
  parameter int USE_MEM_INIT = 1,
  parameter int USE_MEM_INIT_MMI = 0,
  parameter string WAKEUP_TIME = "disable_sleep",
  parameter int WRITE_PROTECT = 1,
  parameter string CLOCKING_MODE = "common_clock",
  parameter int USE_EMBEDDED_CONSTRAINT = 0
) (
  input  logic sleep,
  input  logic clka,
  input  logic ena,
  input  logic [ADDR_WIDTH_A-1:0] addra,
  input  logic [WRITE_DATA_WIDTH_A/BYTE_WRITE_WIDTH_A-1:0] wea,
  input  logic [WRITE_DATA_WIDTH_A-1:0] dina,
  input  logic injectsbiterra,
  input  logic injectdbiterra,
  input  logic rsta,
  input  logic regcea,
  output logic [READ_DATA_WIDTH_A-1:0] douta,
  output logic sbiterra,
  output logic dbiterra,
  input  logic clkb,
  input  logic enb,
  input  logic [ADDR_WIDTH_B-1:0] addrb,
  input  logic [WRITE_DATA_WIDTH_B/BYTE_WRITE_WIDTH_B-1:0] web,
  input  logic [WRITE_DATA_WIDTH_B-1:0] dinb,
  input  logic injectsbiterrb,
  input  logic injectdbiterrb,
  input  logic rstb,
  input  logic regceb,
  output logic [READ_DATA_WIDTH_B-1:0] doutb,
  output logic sbiterrb,
  output logic dbiterrb
);

  xpm_memory_parts #(
    .Width(WRITE_DATA_WIDTH_A), .Bits(MEMORY_SIZE), .InitFile(MEMORY_INIT_FILE), .InitValues(MEMORY_INIT_PARAM),
    .AddrWidthA(ADDR_WIDTH_A), .WidthOfA(WRITE_DATA_WIDTH_A), .ByteA(BYTE_WRITE_WIDTH_A),
    .LatencyA(READ_LATENCY_A), .ModeA(WRITE_MODE_A),
    .AddrWidthB(ADDR_WIDTH_B), .WidthOfB(WRITE_DATA_WIDTH_B), .ByteB(BYTE_WRITE_WIDTH_B),
    .LatencyB(READ_LATENCY_B), .ModeB(WRITE_MODE_B)
  ) u_memory (
    .clk_i(clka),
    .en_a_i(ena), .addr_a_i(addra), .we_a_i(wea), .din_a_i(dina),
    .rst_a_i(rsta), .regce_a_i(regcea), .dout_a_o(douta),
    .en_b_i(enb), .addr_b_i(addrb), .we_b_i(web), .din_b_i(dinb),
    .rst_b_i(rstb), .regce_b_i(regceb), .dout_b_o(doutb)
  );
  assign sbiterra = 1'b0;
  assign dbiterra = 1'b0;
  assign sbiterrb = 1'b0;
  assign dbiterrb = 1'b0;

  logic unused;
  assign unused = ^{sleep, clkb, injectsbiterra, injectdbiterra, injectsbiterrb, injectdbiterrb};

endmodule
