/// Memory accesses of a core: coalesces the lanes of a warp by line, first-level data cache, local memory.
///
/// Two ways, write-through, no allocation on stores. All lanes that touch one line are served in one cycle; a fully
/// coalesced hit takes one. Stores are taken and forgotten (no answer); loads and fences answer with their tag. One
/// miss at a time. A fence waits for all stores to land and then drops every line, so that it sees other cores' stores.
module gpu_dcache
  import gpu_pkg::*;
#(
  parameter int unsigned Threads = 4,
  parameter int unsigned TagWidth = 12,
  /// Size in bytes, a power of two, at least two lines.
  parameter int unsigned Bytes = 8192,
  /// Local memory in bytes, a power of two, at least one line.
  parameter int unsigned LocalBytes = 16384,
  /// First address of local memory, aligned to its size.
  parameter logic [31:0] LocalBase = 32'hffff_0000,
  localparam int unsigned LocalLines = LocalBytes / LineBytes,
  localparam int unsigned LocalWidth = (LocalLines > 1) ? $clog2(LocalLines) : 1
) (
  input  logic                     clk_i,
  /// Synchronous reset, active low.
  input  logic                     rst_ni,
  /// Forget every line and zero local memory, one line a cycle: hold while `clear_line_i` counts.
  input  logic                     clear_i,
  input  logic [LocalWidth-1:0]    clear_line_i,
  input  logic                     req_valid_i,
  output logic                     req_ready_o,
  input  logic                     req_store_i,
  input  logic                     req_fence_i,
  /// funct3: size in bits 1:0, zero extension in bit 2.
  input  logic [2:0]               req_size_i,
  input  logic [Threads-1:0]       req_mask_i,
  input  logic [TagWidth-1:0]      req_tag_i,
  input  logic [31:0]              req_addr_i [Threads],
  input  logic [31:0]              req_data_i [Threads],
  output logic                     rsp_valid_o,
  input  logic                     rsp_ready_i,
  output logic [Threads-1:0]       rsp_mask_o,
  output logic [TagWidth-1:0]      rsp_tag_o,
  output logic [31:0]              rsp_data_o [Threads],
  /// Send gathered stores out.
  input  logic                     drain_i,
  /// No access under way, no store unanswered.
  output logic                     idle_o,
  output logic                     error_o,
  output logic                     error_store_o,
  output logic [31:0]              error_addr_o,
  output logic                     hit_event_o,
  output logic                     miss_event_o,
  output logic                     rd_valid_o,
  input  logic                     rd_ready_i,
  output logic [LineAddrWidth-1:0] rd_line_o,
  input  logic                     rd_beat_i,
  input  logic [63:0]              rd_data_i,
  input  logic                     rd_last_i,
  input  logic                     rd_error_i,
  output logic                     wr_valid_o,
  input  logic                     wr_ready_i,
  output logic [LineAddrWidth-1:0] wr_line_o,
  output logic [LineBits-1:0]      wr_data_o,
  output logic [LineBytes-1:0]     wr_strb_o,
  input  logic                     wr_done_i,
  input  logic                     wr_error_i
);

  localparam int unsigned Sets = Bytes / LineBytes / 2;
  localparam int unsigned SetWidth = (Sets > 1) ? $clog2(Sets) : 1;
  localparam int unsigned AddrTag = LineAddrWidth - $clog2(Sets);
  localparam int unsigned BeatWidth = $clog2(LineBytes / 8);

  if (Bytes < 2 * LineBytes || (Bytes & (Bytes - 1)) != 0) begin : gen_check_bytes
    $fatal(1, "gpu_dcache: Bytes must be a power of two and hold at least two lines of 64 bytes");
  end
  if (LocalBytes < LineBytes || (LocalBytes & (LocalBytes - 1)) != 0) begin : gen_check_local
    $fatal(1, "gpu_dcache: LocalBytes must be a power of two and hold at least one line of 64 bytes");
  end
  if (LocalBase % LocalBytes != 0) begin : gen_check_base
    $fatal(1, "gpu_dcache: LocalBase must be aligned to LocalBytes");
  end

  typedef logic [LineAddrWidth-1:0] line_t;
  typedef enum logic [1:0] { Lookup, Ask, Fill } state_e;

  logic [LineBits-1:0] way0_ram [Sets];
  logic [LineBits-1:0] way1_ram [Sets];
  logic [LineBits-1:0] local_ram [LocalLines];
  logic [AddrTag-1:0] tag0_ram [Sets];
  logic [AddrTag-1:0] tag1_ram [Sets];
  logic [Sets-1:0] valid0_q, valid1_q, victim_q;

  // The access under way, and its line of this cycle (registered: the address register of the memories).
  state_e state_q;
  logic valid_q, store_q, fence_q;
  logic [2:0] size_q;
  logic [Threads-1:0] mask_q, left_q;
  logic [TagWidth-1:0] tag_q;
  logic [Threads-1:0][31:0] addr_q, data_q;
  line_t line_q;
  logic bad_q;
  logic [BeatWidth-1:0] beat_q;

  logic rsp_valid_q;
  logic [Threads-1:0] rsp_mask_q;
  logic [TagWidth-1:0] rsp_tag_q;
  logic [Threads-1:0][31:0] rsp_data_q;

  // verilator lint_off UNUSEDSIGNAL
  function automatic logic [SetWidth-1:0] set_of(line_t line);
    return (Sets > 1) ? line[SetWidth-1:0] : '0;
  endfunction
  // verilator lint_on UNUSEDSIGNAL

  function automatic logic is_local(line_t line);
    return ({line, {LineOffset{1'b0}}} & ~32'(LocalBytes - 1)) == LocalBase;
  endfunction

  function automatic logic [31:0] extract(logic [31:0] word, logic [1:0] offset, logic [2:0] size);
    logic [31:0] shifted;
    shifted = word >> {offset, 3'd0};
    unique case (size[1:0])
      2'd0: return {{24{shifted[7] && !size[2]}}, shifted[7:0]};
      2'd1: return {{16{shifted[15] && !size[2]}}, shifted[15:0]};
      default: return shifted;
    endcase
  endfunction

  logic [SetWidth-1:0] set;
  logic [LocalWidth-1:0] local_line;
  logic local_hit, hit0, hit1, hit;
  logic rsp_free, serve, finish, miss, take;
  logic [Threads-1:0] group, rest;
  line_t next_line, first_line;
  logic [LineBits-1:0] line, store_data;
  logic [LineBytes-1:0] store_strb;
  logic sb_ready, sb_empty, sb_conflict, sb_push, sb_error;
  logic [31:0] sb_error_addr;

  assign set = set_of(line_q);
  assign local_line = (LocalLines > 1) ? line_q[LocalWidth-1:0] : '0;
  assign local_hit = is_local(line_q);
  assign hit0 = valid0_q[set] && tag0_ram[set] == line_q[LineAddrWidth-1-:AddrTag];
  assign hit1 = valid1_q[set] && tag1_ram[set] == line_q[LineAddrWidth-1-:AddrTag];
  assign hit = local_hit || hit0 || hit1;
  assign rsp_free = !rsp_valid_q || rsp_ready_i;

  // Which lanes are served this cycle, and whose line comes next.
  always_comb begin
    group = '0;
    rest = '0;
    next_line = line_q;
    if (valid_q && !fence_q) begin
      for (int t = 0; t < int'(Threads); t++) group[t] = left_q[t] && addr_q[t][31:LineOffset] == line_q;
      rest = left_q & ~group;
      for (int t = int'(Threads) - 1; t >= 0; t--) if (rest[t]) next_line = addr_q[t][31:LineOffset];
    end
  end

  always_comb begin
    first_line = '0;
    if (req_valid_i) begin
      for (int t = int'(Threads) - 1; t >= 0; t--) if (req_mask_i[t]) first_line = req_addr_i[t][31:LineOffset];
    end
  end

  always_comb begin
    serve = 1'b0;
    if (valid_q && state_q == Lookup) begin
      if (fence_q) serve = sb_empty && rsp_free;
      else if (store_q) serve = local_hit || sb_ready;
      else serve = hit && rsp_free;
    end
  end

  assign finish = serve && rest == '0;
  assign miss = valid_q && state_q == Lookup && !fence_q && !store_q && !hit;
  assign req_ready_o = !valid_q || finish;
  assign take = req_valid_i && req_ready_o;
  assign hit_event_o = serve && !fence_q && !store_q;
  assign miss_event_o = state_q == Ask && rd_valid_o && rd_ready_i;

  // The line the served lanes see or write.
  always_comb begin
    line = '0;
    if (serve && !store_q) line = local_hit ? local_ram[local_line] : hit0 ? way0_ram[set] : way1_ram[set];
  end

  always_comb begin
    store_data = '0;
    store_strb = '0;
    if (valid_q && store_q) begin
      for (int t = 0; t < int'(Threads); t++) begin
        if (group[t]) begin
          // Each lane's datum on all the places of a word it may have, and the bytes of the word it takes.
          automatic logic [3:0] bytes;
          automatic logic [31:0] data, bits;
          unique case (size_q[1:0])
            2'd0: begin
              data = {4{data_q[t][7:0]}};
              bytes = 4'b0001 << addr_q[t][1:0];
            end
            2'd1: begin
              data = {2{data_q[t][15:0]}};
              bytes = addr_q[t][1] ? 4'b1100 : 4'b0011;
            end
            default: begin
              data = data_q[t];
              bytes = 4'b1111;
            end
          endcase
          bits = {{8{bytes[3]}}, {8{bytes[2]}}, {8{bytes[1]}}, {8{bytes[0]}}};
          // Word by word: an indexed write would become a shifter of the whole line.
          for (int w = 0; w < int'(LineBytes / 4); w++) begin
            if (addr_q[t][LineOffset-1:2] == (LineOffset - 2)'(w)) begin
              store_data[32*w+:32] = (store_data[32*w+:32] & ~bits) | (data & bits);
              store_strb[4*w+:4] = store_strb[4*w+:4] | bytes;
            end
          end
        end
      end
    end
  end

  assign sb_push = valid_q && store_q && state_q == Lookup && !local_hit;
  assign rd_valid_o = state_q == Ask && !sb_conflict;
  assign rd_line_o = line_q;
  assign idle_o = !valid_q && !rsp_valid_q && sb_empty;
  assign rsp_valid_o = rsp_valid_q;
  assign rsp_mask_o = rsp_mask_q;
  assign rsp_tag_o = rsp_tag_q;
  assign error_o = sb_error || (state_q == Fill && rd_beat_i && rd_last_i && (bad_q || rd_error_i));
  assign error_store_o = sb_error;
  assign error_addr_o = sb_error ? sb_error_addr : {line_q, {LineOffset{1'b0}}};

  always_comb begin
    for (int t = 0; t < int'(Threads); t++) rsp_data_o[t] = rsp_data_q[t];
  end

  gpu_store_buffer u_stores (
    .clk_i, .rst_ni,
    .push_i(sb_push), .push_ready_o(sb_ready),
    .push_line_i(line_q), .push_data_i(store_data), .push_strb_i(store_strb),
    .flush_i(drain_i || (valid_q && fence_q) || (state_q == Ask && sb_conflict)),
    .empty_o(sb_empty),
    .probe_line_i(line_q), .conflict_o(sb_conflict),
    .wr_valid_o, .wr_ready_i, .wr_line_o, .wr_data_o, .wr_strb_o, .wr_done_i, .wr_error_i,
    .error_o(sb_error), .error_addr_o(sb_error_addr)
  );

  // Memories: no reset, one write a cycle. A line is written whole: what a beat or a store leaves out is read back.
  logic fill, store, write0, write1, write_local;
  logic [LineBits-1:0] kept, mask, new_line;
  logic [LocalWidth-1:0] write_local_line;

  assign fill = state_q == Fill && rd_beat_i;
  assign store = serve && store_q && !fence_q;
  assign write0 = fill ? !victim_q[set] : store && hit0;
  assign write1 = fill ? victim_q[set] : store && hit1;
  assign write_local = clear_i || (store && local_hit);
  assign write_local_line = clear_i ? clear_line_i : local_line;

  always_comb begin
    kept = '0;
    mask = '0;
    new_line = '0;
    if (fill || (store && hit)) begin
      kept = write1 ? way1_ram[set] : local_hit && !fill ? local_ram[local_line] : way0_ram[set];
      if (fill) begin
        new_line = kept;
        for (int b = 0; b < int'(LineBytes / 8); b++) if (beat_q == BeatWidth'(b)) new_line[64*b+:64] = rd_data_i;
      end else begin
        for (int b = 0; b < int'(LineBytes); b++) mask[8*b+:8] = {8{store_strb[b]}};
        new_line = (kept & ~mask) | store_data;
      end
    end
  end

  always_ff @(posedge clk_i) begin
    if (write0) way0_ram[set] <= new_line;
    if (write1) way1_ram[set] <= new_line;
    if (write_local) local_ram[write_local_line] <= clear_i ? '0 : new_line;
    if (fill && rd_last_i) begin
      if (victim_q[set]) tag1_ram[set] <= line_q[LineAddrWidth-1-:AddrTag];
      else tag0_ram[set] <= line_q[LineAddrWidth-1-:AddrTag];
    end
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      state_q <= Lookup;
      valid_q <= 1'b0;
      rsp_valid_q <= 1'b0;
      valid0_q <= '0;
      valid1_q <= '0;
      victim_q <= '0;
    end else begin
      if (rsp_valid_q && rsp_ready_i) rsp_valid_q <= 1'b0;
      unique case (state_q)
        Lookup: begin
          if (miss) begin
            state_q <= Ask;
          end
        end
        Ask: begin
          beat_q <= '0;
          bad_q <= 1'b0;
          if (rd_valid_o && rd_ready_i) begin
            state_q <= Fill;
            if (victim_q[set]) valid1_q[set] <= 1'b0;
            else valid0_q[set] <= 1'b0;
          end
        end
        default: begin
          if (rd_beat_i) begin
            beat_q <= beat_q + 1'b1;
            bad_q <= bad_q || rd_error_i;
            if (rd_last_i) begin
              state_q <= Lookup;
              // After an error the core stops; the access ends with whatever came.
              if (victim_q[set]) valid1_q[set] <= 1'b1;
              else valid0_q[set] <= 1'b1;
            end
          end
        end
      endcase
      if (serve) begin
        left_q <= rest;
        line_q <= next_line;
        if (finish) valid_q <= 1'b0;
        if (!store_q) begin
          if (!local_hit && !fence_q) victim_q[set] <= hit0;
          for (int t = 0; t < int'(Threads); t++) begin
            if (group[t]) begin
              rsp_data_q[t] <= extract(line[{addr_q[t][LineOffset-1:2], 5'd0}+:32], addr_q[t][1:0], size_q);
            end
          end
          if (finish) begin
            rsp_valid_q <= 1'b1;
            rsp_mask_q <= mask_q;
            rsp_tag_q <= tag_q;
          end
        end
      end
      if (take) begin
        valid_q <= 1'b1;
        store_q <= req_store_i;
        fence_q <= req_fence_i;
        size_q <= req_size_i;
        mask_q <= req_mask_i;
        left_q <= req_mask_i;
        tag_q <= req_tag_i;
        line_q <= first_line;
        for (int t = 0; t < int'(Threads); t++) begin
          addr_q[t] <= req_addr_i[t];
          data_q[t] <= req_data_i[t];
        end
      end
      if (clear_i || (serve && fence_q)) begin
        valid0_q <= '0;
        valid1_q <= '0;
      end
    end
  end

endmodule
