// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
// For simulation alone: the ports of the primitive (hw/top/models, held against it by a test), and behaviour of our own.
/// The fabric's configuration port (UG570, UG974): keeps what was written, and follows packets as far as its status lines
/// do. Words come with the bits of each byte the other way round; those kept are as they are in a file.
module ICAPE3 (
  output wire AVAIL,
  output wire [31:0] O,
  output wire PRDONE,
  output wire PRERROR,
  input  wire CLK,
  input  wire CSIB,
  input  wire RDWRB,
  input  wire [31:0] I
);

  // What the bench drives and reads.
  /// The port is at the fabric's disposal; the device finds an error.
  logic avail, fails;
  /// Words since the last synchronisation word but its lead, that word's place, and images that have ended.
  logic [31:0] words [16384];
  logic [13:0] count, sync_at;
  logic [7:0] images, aborts;

  localparam logic [31:0] Sync = 32'hAA99_5566, WriteCommand = 32'h3000_8001, Desync = 32'h0000_000D;

  logic synced_q, prdone_q, prerror_q, csib_q = 1'b1, rdwrb_q = 1'b1;
  logic [31:0] last_q, word;
  logic [2:0] done_in_q;
  logic write;

  always_comb for (int b = 0; b < 4; b++) for (int k = 0; k < 8; k++) word[8*b+k] = I[8*b+7-k];
  assign write = !CSIB && !RDWRB;

  initial begin
    avail = 1'b1;
    fails = 1'b0;
    count = '0;
    images = '0;
    aborts = '0;
    synced_q = 1'b0;
    prdone_q = 1'b1;
    prerror_q = 1'b0;
    done_in_q = '0;
  end

  always_ff @(posedge CLK) begin
    csib_q <= CSIB;
    rdwrb_q <= RDWRB;
    if (done_in_q != '0) done_in_q <= done_in_q - 3'd1;
    if (done_in_q == 3'd1) begin
      prdone_q <= 1'b1;
      images <= images + 8'd1;
    end
    if (write) begin
      last_q <= word;
      words[count] <= word;
      count <= count + 14'd1;
      if (!synced_q && word == Sync) begin
        synced_q <= 1'b1;
        sync_at <= count;
        prdone_q <= 1'b0;
        prerror_q <= 1'b0;
      end
      if (synced_q && fails) prerror_q <= 1'b1;
      if (synced_q && last_q == WriteCommand && word == Desync) begin
        synced_q <= 1'b0;
        done_in_q <= 3'd4;
      end
      TheFabricHasThePort_A : assert (avail) else $error("ICAPE3: a word for a port that is not available");
    end
    // RDWRB that rises while CSIB stays low: an abort sequence.
    if (!CSIB && !csib_q && RDWRB && !rdwrb_q) begin
      synced_q <= 1'b0;
      aborts <= aborts + 8'd1;
    end
    DirectionFallsWhileClosed_A :
    assert (RDWRB == rdwrb_q || (CSIB && csib_q) || RDWRB) else $error("ICAPE3: RDWRB fell while CSIB was low");
  end

  assign AVAIL = avail;
  assign PRDONE = prdone_q;
  assign PRERROR = prerror_q;
  // UG909: no configuration error, synchronised, not in an abort.
  assign O = {24'd0, !prerror_q, synced_q, 1'b0, 1'b1, 4'hB};

endmodule
