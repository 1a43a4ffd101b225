// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
/// A memory that is only read by the name, ports and parameters
/// of AMD's `xpm_memory_sprom` (Ref: UG974), around `xpm_memory_parts`.
module xpm_memory_sprom #(
  parameter int ADDR_WIDTH_A = 6,
  parameter int READ_DATA_WIDTH_A = 32,
  parameter int READ_LATENCY_A = 2,
  parameter string READ_RESET_VALUE_A = "0",
  parameter string WRITE_MODE_A = "no_change",
  parameter string RST_MODE_A = "SYNC",
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
  parameter int WRITE_PROTECT = 1
) (
  input  logic sleep,
  input  logic clka,
  input  logic ena,
  input  logic [ADDR_WIDTH_A-1:0] addra,
  input  logic rsta,
  input  logic regcea,
  output logic [READ_DATA_WIDTH_A-1:0] douta,
  output logic sbiterra,
  output logic dbiterra
);

  xpm_memory_parts #(
    .Width(READ_DATA_WIDTH_A), .Bits(MEMORY_SIZE), .InitFile(MEMORY_INIT_FILE), .InitValues(MEMORY_INIT_PARAM),
    .AddrWidthA(ADDR_WIDTH_A), .WidthOfA(READ_DATA_WIDTH_A), .ByteA(READ_DATA_WIDTH_A),
    .LatencyA(READ_LATENCY_A), .ModeA(WRITE_MODE_A)
  ) u_memory (
    .clk_i(clka),
    .en_a_i(ena), .addr_a_i(addra), .we_a_i('0), .din_a_i('0),
    .rst_a_i(rsta), .regce_a_i(regcea), .dout_a_o(douta),
    .en_b_i(1'b0), .addr_b_i('0), .we_b_i('0), .din_b_i('0), .rst_b_i(1'b0), .regce_b_i(1'b0), .dout_b_o()
  );
  assign sbiterra = 1'b0;
  assign dbiterra = 1'b0;

  logic unused;
  assign unused = ^{sleep};

endmodule
