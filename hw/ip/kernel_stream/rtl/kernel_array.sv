// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
/// The memory behind a kernel's port to a memory block: HLS's `ap_memory` and `bram`. In a run it is the kernel's, and between runs
/// words of a register window.
///
/// A side reads one cycle after its enable, what was there before a write of that cycle, and keeps it until it is enabled again.
/// Where both sides write one element, the second one's bytes are kept. Elements lie in the window as C has them, from the lowest
/// byte on, each in the next power of two of bytes. Beyond the last one nothing is kept, and reads are zero. In a run the window
/// reads zero and ignores writes; every access is answered.
module kernel_array #(
  /// Bits of an element, and how many there are.
  parameter int unsigned Width = 32,
  parameter int unsigned Depth = 16,
  /// Bits of an element's number, as the kernel says it.
  parameter int unsigned AddrWidth = 4,
  /// Sides of the kernel's, 1 or 2.
  parameter int unsigned Sides = 1,
  /// Write enables of a side: one for an element, or one for each byte.
  parameter int unsigned Enables = 1,
  /// Derived: what an element takes in the window, and what a row of the memory holds: an element or a word, whichever is larger.
  localparam int unsigned Element = Width <= 8 ? 8 : 1 << $clog2(Width),
  localparam int unsigned Row = Element < 32 ? 32 : Element,
  localparam int unsigned Rows = (Depth * Element + Row - 1) / Row
) (
  input  logic clk_i,
  /// Synchronous reset, active low. What the memory holds stays.
  input  logic rst_ni,
  /// A run is under way.
  input  logic running_i,

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

  input  logic [Sides-1:0]                en_i,
  input  logic [Sides-1:0][AddrWidth-1:0] addr_i,
  input  logic [Sides-1:0][Enables-1:0]   we_i,
  input  logic [Sides-1:0][Width-1:0]     din_i,
  output logic [Sides-1:0][Width-1:0]     dout_o
);

  if (Sides < 1 || Sides > 2) begin : gen_check_sides
    $fatal(1, "kernel_array: Sides must be 1 or 2");
  end
  if (Enables != 1 && Enables * 8 != Width) begin : gen_check_enables
    $fatal(1, "kernel_array: Enables must be 1, or one for each byte of Width");
  end
  if (Rows * Row / 8 > 65536) begin : gen_check_depth
    $fatal(1, "kernel_array: the elements must fit a window of 64 KiB");
  end

  localparam int unsigned RowWidth = Rows == 1 ? 1 : $clog2(Rows), Bytes = Row / 8;
  localparam int unsigned PerRow = Row / Element, WordsPerRow = Row / 32;

  logic write, read, reading_q, known_q;
  logic [13:0] word;
  logic [3:0] exists;
  logic [1:0] en;
  logic [1:0][RowWidth-1:0] row;
  logic [1:0][Bytes-1:0] we;
  logic [1:0][Row-1:0] din, dout;
  int unsigned lane_q;

  // Accesses: one at a time, writes first; the answer to a read comes two cycles later.
  assign write = awvalid_i && wvalid_i && !bvalid_o;
  assign read = arvalid_i && !rvalid_o && !reading_q && !write;
  assign awready_o = write;
  assign wready_o = write;
  assign arready_o = read;
  assign word = write ? awaddr_i[15:2] : araddr_i[15:2];
  for (genvar i = 0; i < 4; i++) begin : gen_exists
    assign exists[i] = 4 * 32'(word) + i < Depth * Element / 8;
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      bvalid_o <= 1'b0;
      rvalid_o <= 1'b0;
      reading_q <= 1'b0;
      known_q <= 1'b0;
      lane_q <= '0;
      rdata_o <= '0;
    end else begin
      if (write) bvalid_o <= 1'b1;
      else if (bready_i) bvalid_o <= 1'b0;
      reading_q <= read;
      known_q <= !running_i && 32'(word) < Rows * WordsPerRow;
      lane_q <= 32'(word) % WordsPerRow;
      if (reading_q) begin
        rvalid_o <= 1'b1;
        rdata_o <= known_q ? dout[0][32*lane_q+:32] : '0;
      end else if (rready_i) begin
        rvalid_o <= 1'b0;
      end
    end
  end

  for (genvar i = 0; i < 2; i++) begin : gen_sides
    if (i < int'(Sides)) begin : gen_side
      logic there;
      int unsigned at;
      logic [Row-1:0] taken;
      logic [Row/8-1:0] bytes;

      int unsigned at_q;
      logic there_q;

      assign there = 32'(addr_i[i]) < Depth;
      assign at = 32'(addr_i[i]) % PerRow;
      assign taken = Row'(din_i[i]) << (at * Element);
      if (Enables == 1) begin : gen_whole
        assign bytes = Bytes'({(Element / 8){we_i[i][0]}}) << (at * Element / 8);
      end else begin : gen_bytes
        assign bytes = Bytes'(we_i[i]) << (at * Element / 8);
      end

      always_ff @(posedge clk_i) begin
        if (!rst_ni) begin
          at_q <= '0;
          there_q <= 1'b0;
        end else if (running_i && en_i[i]) begin
          at_q <= at;
          there_q <= there;
        end
      end

      always_comb begin
        en[i] = running_i && en_i[i];
        row[i] = RowWidth'(32'(addr_i[i]) / PerRow);
        we[i] = there ? bytes : '0;
        din[i] = taken;
        if (i == 0 && !running_i) begin
          en[i] = write || read;
          row[i] = RowWidth'(32'(word) / WordsPerRow);
          we[i] = write ? Bytes'(wstrb_i & exists) << (4 * (32'(word) % WordsPerRow)) : '0;
          din[i] = {WordsPerRow{wdata_i}};
        end
      end

      assign dout_o[i] = there_q ? Width'(dout[i] >> (at_q * Element)) : '0;
    end else begin : gen_none
      assign en[i] = 1'b0;
      assign row[i] = '0;
      assign we[i] = '0;
      assign din[i] = '0;
    end
  end

  xpm_memory_parts #(
    .Width(Row), .Bits(Row * Rows), .AddrWidthA(RowWidth), .ByteA(8), .ModeA("read_first"), .AddrWidthB(RowWidth), .ByteB(8),
    .ModeB("read_first")
  ) u_memory (
    .clk_i, .en_a_i(en[0]), .addr_a_i(row[0]), .we_a_i(we[0]), .din_a_i(din[0]), .rst_a_i(1'b0), .regce_a_i(1'b1),
    .dout_a_o(dout[0]), .en_b_i(en[1]), .addr_b_i(row[1]), .we_b_i(we[1]), .din_b_i(din[1]), .rst_b_i(1'b0), .regce_b_i(1'b1),
    .dout_b_o(dout[1])
  );

  logic unused;
  assign unused = ^{awaddr_i[1:0], araddr_i[1:0], dout[1]};

endmodule
