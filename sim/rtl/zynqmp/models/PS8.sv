// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
// For simulation alone: the ports of the primitive (hw/top/models), and behaviour of our own.
/// The processing system of a Zynq UltraScale+ as far as the fabric sees it (UG1085): a manager for register accesses that
/// the bench commands, memory behind S_AXI_HP0_FPD, PL clock 0, the fabric's reset and an interrupt. What a tenant must
/// not do to it is an assertion.
module PS8 #(
  /// Words of 64 bits that there are.
  parameter int unsigned Words = 65536
) (
`include "ps8_ports.svh"
);
  localparam int unsigned IndexBits = $clog2(Words);

  // What the bench drives and reads.
  /// PL clock 0 and the fabric's reset (EMIO GPIO 95), active low.
  logic pl_clk, pl_rst_n;
  /// Level of pl_ps_irq0.
  logic irq;
  /// A burst of register accesses: its kind, id, address, length less one, and words; it begins when `go` differs from
  /// `done`, and has ended when they are equal again. `answer` is the worst response.
  logic go, done, is_write;
  logic [15:0] id;
  logic [39:0] address;
  logic [7:0] length;
  logic [31:0] words [16];
  logic [1:0] answer;
  /// Memory from address 0 on, and what was asked of it: requests, requests beyond it, ids that were used.
  logic [63:0] memory [Words];
  logic [31:0] reads, writes, beyond;
  logic [63:0] ids_used;

  assign PLCLK = {3'd0, pl_clk};
  assign EMIOGPIOO = {pl_rst_n, 95'd0};
  assign irq = PLPSIRQ0[0];

  // Start values are random: no claim holds before the first reset has gone through all synchronisers.
  logic [4:0] resetting_q = '0;
  initial $assertoff;
  always_ff @(posedge MAXIGP0ACLK) begin
    if (!pl_rst_n && resetting_q != '1) begin
      resetting_q <= resetting_q + 5'd1;
      if (resetting_q == 5'd30) $asserton;
    end
  end

  // Pauses are drawn by a shift register, the same ones every time.
  logic [31:0] random_q = 32'h5EED_ED01;
  always_ff @(posedge MAXIGP0ACLK) begin
    random_q <= {random_q[30:0], random_q[31] ^ random_q[21] ^ random_q[1] ^ random_q[0]};
  end

  // ---- Register accesses: M_AXI_HPM0_FPD, 32 bits wide ----
  typedef enum logic [2:0] {Rest, Address, Data, Answer, Read} state_e;
  state_e state_q;
  logic [7:0] beat_q;

  assign MAXIGP0AWID = id;
  assign MAXIGP0ARID = id;
  assign MAXIGP0AWADDR = address;
  assign MAXIGP0ARADDR = address;
  assign MAXIGP0AWLEN = length;
  assign MAXIGP0ARLEN = length;
  assign MAXIGP0AWSIZE = 3'd2;
  assign MAXIGP0ARSIZE = 3'd2;
  assign MAXIGP0AWBURST = 2'b01;
  assign MAXIGP0ARBURST = 2'b01;
  assign MAXIGP0AWVALID = state_q == Address && is_write;
  assign MAXIGP0ARVALID = state_q == Address && !is_write;
  // Where a register lies in the primitive's 128 bits is the width's doing; the upper ones are noise.
  assign MAXIGP0WDATA = {{3{~words[beat_q[3:0]]}}, words[beat_q[3:0]]};
  assign MAXIGP0WSTRB = {12'hFFF, 4'hF};
  assign MAXIGP0WLAST = beat_q == length;
  assign MAXIGP0WVALID = state_q == Data;
  assign MAXIGP0BREADY = state_q == Answer && random_q[3];
  assign MAXIGP0RREADY = state_q == Read && random_q[3:2] != '0;

  always_ff @(posedge MAXIGP0ACLK) begin
    if (!pl_rst_n) begin
      state_q <= Rest;
      done <= go;
    end else begin
      unique case (state_q)
        Rest: begin
          beat_q <= '0;
          answer <= '0;
          if (go != done) state_q <= Address;
        end
        Address: if (is_write ? MAXIGP0AWREADY : MAXIGP0ARREADY) state_q <= is_write ? Data : Read;
        Data: if (MAXIGP0WREADY) begin
          beat_q <= beat_q + 8'd1;
          if (MAXIGP0WLAST) state_q <= Answer;
        end
        Answer: if (MAXIGP0BVALID && MAXIGP0BREADY) begin
          answer <= MAXIGP0BRESP;
          AWriteKeepsItsId_A : assert (MAXIGP0BID == id) else $error("PS8: a write was answered with another id");
          done <= go;
          state_q <= Rest;
        end
        default: if (MAXIGP0RVALID && MAXIGP0RREADY) begin
          words[beat_q[3:0]] <= MAXIGP0RDATA[31:0];
          if (MAXIGP0RRESP > answer) answer <= MAXIGP0RRESP;
          beat_q <= beat_q + 8'd1;
          AReadKeepsItsId_A : assert (MAXIGP0RID == id) else $error("PS8: a read was answered with another id");
          AReadEndsWithItsLastBeat_A : assert (MAXIGP0RLAST == (beat_q == length)) else $error("PS8: RLAST is wrong");
          if (MAXIGP0RLAST) begin
            done <= go;
            state_q <= Rest;
          end
        end
      endcase
      NothingIsAnsweredUnasked_A :
      assert (!(MAXIGP0BVALID && state_q != Answer && state_q != Data) && !(MAXIGP0RVALID && state_q != Read))
      else $error("PS8: an answer that nobody asked for");
    end
  end

  // ---- Memory: S_AXI_HP0_FPD, 64 bits wide; answers of different ids in any order ----
  typedef struct packed {
    logic [5:0] id;
    logic [48:0] addr;
    logic [7:0] len;
    logic [2:0] size;
    logic [1:0] burst;
  } request_t;

  localparam int unsigned Depth = 8;
  typedef logic [2:0] index_t;

  /// The next beat's address (AXI4, A3.4.1).
  function automatic logic [48:0] next(input request_t request);
    logic [48:0] step, extent, low;
    step = 49'd1 << request.size;
    extent = step * (49'(request.len) + 49'd1);
    low = request.addr & ~(extent - 49'd1);
    next = (request.addr & ~(step - 49'd1)) + step;
    if (request.burst == 2'b00) next = request.addr;
    if (request.burst == 2'b10 && next == low + extent) next = low;
  endfunction

  function automatic logic inside_memory(input logic [48:0] addr);
    inside_memory = addr[48:3] < 46'(Words);
  endfunction

  function automatic logic in_page(input request_t request);
    in_page = 49'(request.addr[11:0]) + (49'(request.len) << request.size) < 49'd4096 || request.burst != 2'b01;
  endfunction

  // Reads: what was asked, oldest first; one is under way, and each burst is the oldest of its id.
  request_t reads_q [Depth];
  logic [3:0] asked_q;
  request_t read_q;
  logic [7:0] read_left_q;
  logic reading_q, read_gap_q;
  index_t pick;
  logic pick_valid, take_read;

  always_comb begin
    pick = '0;
    pick_valid = asked_q != '0;
    // The youngest that may go first, where the dice say so.
    for (int k = 1; k < int'(Depth); k++) begin
      if (4'(k) < asked_q && random_q[k+8]) begin
        logic first;
        first = 1'b1;
        for (int j = 0; j < k; j++) if (reads_q[j].id == reads_q[k].id) first = 1'b0;
        if (first) pick = index_t'(k);
      end
    end
  end

  assign SAXIGP2ARREADY = pl_rst_n && asked_q < 4'(Depth) && random_q[5:4] != '0;
  assign SAXIGP2RVALID = reading_q && !read_gap_q;
  assign SAXIGP2RID = read_q.id;
  assign SAXIGP2RDATA = {64'hBAD0_BAD0_BAD0_BAD0, inside_memory(read_q.addr) ? memory[read_q.addr[IndexBits+2:3]] : '0};
  assign SAXIGP2RRESP = inside_memory(read_q.addr) ? 2'b00 : 2'b11;
  assign SAXIGP2RLAST = read_left_q == '0;
  assign take_read = pick_valid && !reading_q && random_q[7];

  always_ff @(posedge SAXIGP2RCLK) begin
    if (!pl_rst_n) begin
      asked_q <= '0;
      reading_q <= 1'b0;
      read_gap_q <= 1'b0;
    end else begin
      logic [3:0] count;
      count = asked_q;
      if (take_read) begin
        read_q <= reads_q[pick];
        read_left_q <= reads_q[pick].len;
        reading_q <= 1'b1;
        for (int k = 0; k < int'(Depth) - 1; k++) if (k >= int'(pick)) reads_q[k] <= reads_q[k+1];
        count = count - 4'd1;
      end
      if (SAXIGP2ARVALID && SAXIGP2ARREADY) begin
        reads_q[index_t'(count)] <= '{SAXIGP2ARID, SAXIGP2ARADDR, SAXIGP2ARLEN, SAXIGP2ARSIZE, SAXIGP2ARBURST};
        count = count + 4'd1;
      end
      asked_q <= count;
      if (!SAXIGP2RVALID || SAXIGP2RREADY) read_gap_q <= random_q[10:9] == '0;
      if (SAXIGP2RVALID && SAXIGP2RREADY) begin
        read_q.addr <= next(read_q);
        read_left_q <= read_left_q - 8'd1;
        if (SAXIGP2RLAST) reading_q <= 1'b0;
      end
    end
  end

  // Writes: data come in the order of requests; answers of different ids in any order.
  request_t writes_q [Depth];
  logic [3:0] owed_q;
  logic [7:0] written_q;
  logic [5:0] ended_q [Depth];
  logic [3:0] ended_count_q;
  index_t answer_pick;
  logic answering_q;
  logic [5:0] answer_id_q;
  logic data_goes, ends;

  always_comb begin
    answer_pick = '0;
    for (int k = 1; k < int'(Depth); k++) begin
      if (4'(k) < ended_count_q && random_q[k+16]) begin
        logic first;
        first = 1'b1;
        for (int j = 0; j < k; j++) if (ended_q[j] == ended_q[k]) first = 1'b0;
        if (first) answer_pick = index_t'(k);
      end
    end
  end

  assign SAXIGP2AWREADY = pl_rst_n && owed_q < 4'(Depth) && random_q[12:11] != '0;
  assign SAXIGP2WREADY = owed_q != '0 && ended_count_q < 4'(Depth) && random_q[14:13] != '0;
  assign data_goes = SAXIGP2WVALID && SAXIGP2WREADY;
  assign ends = data_goes && SAXIGP2WLAST;
  assign SAXIGP2BVALID = answering_q;
  assign SAXIGP2BID = answer_id_q;
  assign SAXIGP2BRESP = 2'b00;

  always_ff @(posedge SAXIGP2WCLK) begin
    if (!pl_rst_n) begin
      owed_q <= '0;
      written_q <= '0;
      ended_count_q <= '0;
      answering_q <= 1'b0;
    end else begin
      logic [3:0] count, ended;
      count = owed_q;
      ended = ended_count_q;
      if (data_goes) begin
        if (inside_memory(writes_q[0].addr)) begin
          for (int b = 0; b < 8; b++) begin
            if (SAXIGP2WSTRB[b]) memory[writes_q[0].addr[IndexBits+2:3]][8*b+:8] <= SAXIGP2WDATA[8*b+:8];
          end
        end
        writes_q[0].addr <= next(writes_q[0]);
        written_q <= SAXIGP2WLAST ? '0 : written_q + 8'd1;
        AWriteEndsWithItsLastBeat_A :
        assert (SAXIGP2WLAST == (written_q == writes_q[0].len)) else $error("PS8: WLAST is wrong");
      end
      if (!answering_q && ended != '0 && random_q[20]) begin
        answering_q <= 1'b1;
        answer_id_q <= ended_q[answer_pick];
        for (int k = 0; k < int'(Depth) - 1; k++) if (k >= int'(answer_pick)) ended_q[k] <= ended_q[k+1];
        ended = ended - 4'd1;
      end else if (answering_q && SAXIGP2BREADY) answering_q <= 1'b0;
      if (ends) begin
        ended_q[index_t'(ended)] <= writes_q[0].id;
        ended = ended + 4'd1;
        for (int k = 0; k < int'(Depth) - 1; k++) writes_q[k] <= writes_q[k+1];
        count = count - 4'd1;
      end
      if (SAXIGP2AWVALID && SAXIGP2AWREADY) begin
        writes_q[index_t'(count)] <= '{SAXIGP2AWID, SAXIGP2AWADDR, SAXIGP2AWLEN, SAXIGP2AWSIZE, SAXIGP2AWBURST};
        count = count + 4'd1;
      end
      owed_q <= count;
      ended_count_q <= ended;
    end
  end

  // ---- What no tenant may do to the processing system, whatever it asks ----
  logic [71:0] ar_was_q, aw_was_q;
  logic ar_waits_q, aw_waits_q;
  always_ff @(posedge SAXIGP2RCLK) begin
    ar_waits_q <= pl_rst_n && SAXIGP2ARVALID && !SAXIGP2ARREADY;
    aw_waits_q <= pl_rst_n && SAXIGP2AWVALID && !SAXIGP2AWREADY;
    ar_was_q <= {4'd0, SAXIGP2ARID, SAXIGP2ARADDR, SAXIGP2ARLEN, SAXIGP2ARSIZE, SAXIGP2ARBURST};
    aw_was_q <= {4'd0, SAXIGP2AWID, SAXIGP2AWADDR, SAXIGP2AWLEN, SAXIGP2AWSIZE, SAXIGP2AWBURST};
    if (!pl_rst_n) begin
      reads <= '0;
      writes <= '0;
      beyond <= '0;
      ids_used <= '0;
    end else begin
      if (SAXIGP2ARVALID && SAXIGP2ARREADY) begin
        reads <= reads + 32'd1;
        ids_used[SAXIGP2ARID] <= 1'b1;
      end
      if (SAXIGP2AWVALID && SAXIGP2AWREADY) begin
        writes <= writes + 32'd1;
        ids_used[SAXIGP2AWID] <= 1'b1;
      end
      if ((SAXIGP2ARVALID && SAXIGP2ARREADY && !inside_memory(SAXIGP2ARADDR)) ||
          (SAXIGP2AWVALID && SAXIGP2AWREADY && !inside_memory(SAXIGP2AWADDR))) beyond <= beyond + 32'd1;
      ReadsAreNonSecureAndNonCoherent_A :
      assert (!SAXIGP2ARVALID || (SAXIGP2ARPROT == 3'b010 && SAXIGP2ARCACHE == 4'b0011 && SAXIGP2ARQOS == '0 &&
              !SAXIGP2ARLOCK && !SAXIGP2ARUSER))
      else $error("PS8: a read with attributes that no tenant may choose");
      WritesAreNonSecureAndNonCoherent_A :
      assert (!SAXIGP2AWVALID || (SAXIGP2AWPROT == 3'b010 && SAXIGP2AWCACHE == 4'b0011 && SAXIGP2AWQOS == '0 &&
              !SAXIGP2AWLOCK && !SAXIGP2AWUSER))
      else $error("PS8: a write with attributes that no tenant may choose");
      RequestsStandUntilTheyAreTaken_A :
      assert ((!ar_waits_q || (SAXIGP2ARVALID &&
               ar_was_q == {4'd0, SAXIGP2ARID, SAXIGP2ARADDR, SAXIGP2ARLEN, SAXIGP2ARSIZE, SAXIGP2ARBURST})) &&
              (!aw_waits_q || (SAXIGP2AWVALID &&
               aw_was_q == {4'd0, SAXIGP2AWID, SAXIGP2AWADDR, SAXIGP2AWLEN, SAXIGP2AWSIZE, SAXIGP2AWBURST})))
      else $error("PS8: a request changed before it was taken");
      RequestsStayInTheirPage_A :
      assert ((!SAXIGP2ARVALID || in_page('{SAXIGP2ARID, SAXIGP2ARADDR, SAXIGP2ARLEN, SAXIGP2ARSIZE, SAXIGP2ARBURST})) &&
              (!SAXIGP2AWVALID || in_page('{SAXIGP2AWID, SAXIGP2AWADDR, SAXIGP2AWLEN, SAXIGP2AWSIZE, SAXIGP2AWBURST})))
      else $error("PS8: a burst crosses a page");
      SizesAreThePorts_A :
      assert ((!SAXIGP2ARVALID || SAXIGP2ARSIZE <= 3'd3) && (!SAXIGP2AWVALID || SAXIGP2AWSIZE <= 3'd3))
      else $error("PS8: a beat wider than the port");
    end
  end

endmodule
