// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
/// What the vendor's memories by name have in common: words of one width, two ports, one clock.
///
/// A kernel in a slot has the slot's clock, whichever of its clocks a port is of. Each port writes by bytes and reads
/// `Latency` cycles later (0: at once); the last of two or more stages moves with `regce`, and a reset makes it zero. While
/// it writes, a port reads what was there (read_first), what it writes (write_first), or keeps what it had (no_change).
/// Where both ports write one word at once, the second one's bytes are kept, as a simulator has it.
module xpm_memory_parts #(
  parameter int Width = 32,
  parameter int Bits = 2048,
  /// A file of words in hexadecimal, or "none"; or the words themselves, with commas between.
  parameter string InitFile = "none",
  parameter string InitValues = "0",
  parameter int AddrWidthA = 6,
  parameter int WidthOfA = Width,
  parameter int ByteA = Width,
  parameter int LatencyA = 1,
  parameter string ModeA = "no_change",
  parameter int AddrWidthB = 6,
  parameter int WidthOfB = Width,
  parameter int ByteB = Width,
  parameter int LatencyB = 1,
  parameter string ModeB = "no_change"
) (
  input  logic clk_i,
  input  logic en_a_i,
  input  logic [AddrWidthA-1:0] addr_a_i,
  input  logic [Width/ByteA-1:0] we_a_i,
  input  logic [Width-1:0] din_a_i,
  input  logic rst_a_i,
  input  logic regce_a_i,
  output logic [Width-1:0] dout_a_o,
  input  logic en_b_i,
  input  logic [AddrWidthB-1:0] addr_b_i,
  input  logic [Width/ByteB-1:0] we_b_i,
  input  logic [Width-1:0] din_b_i,
  input  logic rst_b_i,
  input  logic regce_b_i,
  output logic [Width-1:0] dout_b_o
);

  localparam int Depth = Bits / Width;

  if (WidthOfA != Width || WidthOfB != Width) begin : gen_check_widths
    $fatal(1, "xpm_memory: this model has one width on both sides");
  end

  logic [Width-1:0] mem_q [Depth];
  logic [Width-1:0] old_a, old_b, new_a, new_b;

  initial begin
    for (int i = 0; i < Depth; i++) mem_q[i] = '0;
    if (InitFile != "none" && InitFile != "") $readmemh(InitFile, mem_q);
  end

  if (InitValues != "0" && InitValues != "") begin : gen_values
    int place;
    byte digit;

    initial begin
      place = 0;
      for (int i = 0; i < InitValues.len(); i++) begin
        digit = InitValues.getc(i);
        if (digit == ",") place = place + 1;
        else if (digit > "9") mem_q[place] = (mem_q[place] << 4) | Width'((digit & 8'h1F) + 9);
        else mem_q[place] = (mem_q[place] << 4) | Width'(digit & 8'h0F);
      end
    end
  end

  assign old_a = mem_q[addr_a_i];
  assign old_b = mem_q[addr_b_i];
  for (genvar i = 0; i < Width / ByteA; i++) begin : gen_bytes_a
    assign new_a[i*ByteA+:ByteA] = we_a_i[i] ? din_a_i[i*ByteA+:ByteA] : old_a[i*ByteA+:ByteA];
  end
  for (genvar i = 0; i < Width / ByteB; i++) begin : gen_bytes_b
    assign new_b[i*ByteB+:ByteB] = we_b_i[i] ? din_b_i[i*ByteB+:ByteB] : old_b[i*ByteB+:ByteB];
  end

  // What begins with contents is written by more than one process, which always_ff forbids.
  always @(posedge clk_i) begin
    for (int i = 0; i < Width / ByteA; i++)
      if (en_a_i && we_a_i[i]) mem_q[addr_a_i][i*ByteA+:ByteA] <= din_a_i[i*ByteA+:ByteA];
    for (int i = 0; i < Width / ByteB; i++)
      if (en_b_i && we_b_i[i]) mem_q[addr_b_i][i*ByteB+:ByteB] <= din_b_i[i*ByteB+:ByteB];
  end

  xpm_memory_read #(.Width(Width), .Latency(LatencyA), .Mode(ModeA)) u_read_a (
    .clk_i, .en_i(en_a_i), .writes_i(|we_a_i), .old_i(old_a), .new_i(new_a), .rst_i(rst_a_i), .regce_i(regce_a_i),
    .dout_o(dout_a_o)
  );
  xpm_memory_read #(.Width(Width), .Latency(LatencyB), .Mode(ModeB)) u_read_b (
    .clk_i, .en_i(en_b_i), .writes_i(|we_b_i), .old_i(old_b), .new_i(new_b), .rst_i(rst_b_i), .regce_i(regce_b_i),
    .dout_o(dout_b_o)
  );

endmodule
