// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
/// The windows of a slot: a table that software writes word by word, and that both directions look requests up in.
///
/// The table is distributed RAM with one reading port: software's access goes first, then the directions in turns. The
/// answer to a request is that of the whole table as it stands in that cycle; it is there at once where the request lies
/// in the window that its direction used last, and else within 2 * (`NumWindows` + 1) + 2 cycles of no access by
/// software. Out of reset every window is closed; that takes `NumWindows` cycles, in which `ready_o` is low and nothing is
/// looked up.
module firewall_windows
  import eddy_pkg::*;
  import firewall_pkg::*;
#(
  /// A power of two.
  parameter int unsigned NumWindows = 16,
  parameter int unsigned IndexWidth = $clog2(NumWindows)
) (
  input  logic                    clk_i,
  /// Synchronous reset, active low.
  input  logic                    rst_ni,

  /// Software's access, while `ready_o`: which word (0 first page, 1 last page, 2 what is allowed) of which window.
  output logic                    ready_o,
  input  logic                    sel_i,
  input  logic                    write_i,
  input  logic [  IndexWidth-1:0] index_i,
  input  logic [             1:0] word_i,
  input  logic [            31:0] wdata_i,
  output logic [            31:0] rdata_o,

  /// Requests to look up: reads, and writes.
  input  lookup_req_t             read_req_i,
  output lookup_rsp_t             read_rsp_o,
  input  lookup_req_t             write_req_i,
  output lookup_rsp_t             write_rsp_o
);

  if (NumWindows < 2 || (NumWindows & (NumWindows - 1)) != 0) begin : gen_check_windows
    $fatal(1, "firewall: NumWindows must be a power of two, 2 or more");
  end

  typedef logic [IndexWidth-1:0] index_t;
  typedef struct packed {
    logic [NumContexts-1:0] contexts;
    logic                   write;
    logic                   read;
  } flags_t;

  logic [PageWidth-1:0] bases_q [NumWindows];
  logic [PageWidth-1:0] lasts_q [NumWindows];
  flags_t flags_q [NumWindows];

  logic closing_q, put, changed, turn_q;
  index_t closed_q, put_index, get_index, read_index, write_index;
  logic read_load, write_load, read_grant, write_grant;
  window_t window;

  // Closing, out of reset.
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      closing_q <= 1'b1;
      closed_q <= '0;
    end else if (closing_q) begin
      closed_q <= closed_q + index_t'(1);
      closing_q <= closed_q != '1;
    end
  end

  assign ready_o = !closing_q;
  assign put = sel_i && write_i;
  assign changed = closing_q || put;
  assign put_index = closing_q ? closed_q : index_i;

  always_ff @(posedge clk_i) begin
    if (closing_q || (put && word_i == 2'd0)) bases_q[put_index] <= closing_q ? '0 : wdata_i[PageWidth-1:0];
  end

  always_ff @(posedge clk_i) begin
    if (closing_q || (put && word_i == 2'd1)) lasts_q[put_index] <= closing_q ? '0 : wdata_i[PageWidth-1:0];
  end

  always_ff @(posedge clk_i) begin
    if (closing_q || (put && word_i == 2'd2)) begin
      flags_q[put_index] <= closing_q ? '0 : '{contexts: wdata_i[31:16], write: wdata_i[1], read: wdata_i[0]};
    end
  end

  // One reader a cycle.
  assign read_grant = read_load && !sel_i && !closing_q && !(write_load && turn_q);
  assign write_grant = write_load && !sel_i && !closing_q && !(read_load && !turn_q);

  always_ff @(posedge clk_i) begin
    if (!rst_ni) turn_q <= 1'b0;
    else if (read_grant || write_grant) turn_q <= read_grant;
  end

  always_comb begin
    get_index = 'x;
    window = 'x;
    if (sel_i || read_load || write_load) begin
      get_index = sel_i ? index_i : write_grant ? write_index : read_index;
      window.base = bases_q[get_index];
      window.last = lasts_q[get_index];
      {window.contexts, window.write, window.read} = flags_q[get_index];
    end
  end

  always_comb begin
    rdata_o = '0;
    if (sel_i) begin
      unique case (word_i)
        2'd0: rdata_o = 32'(window.base);
        2'd1: rdata_o = 32'(window.last);
        2'd2: rdata_o = {window.contexts, 14'd0, window.write, window.read};
        default: rdata_o = '0;
      endcase
    end
  end

  firewall_lookup #(
    .NumWindows(NumWindows),
    .Write(1'b0)
  ) u_read (
    .clk_i,
    .rst_ni,
    .changed_i(changed),
    .look_i(read_req_i.look),
    .page_i(read_req_i.page),
    .context_i(read_req_i.context_id),
    .taken_i(read_req_i.taken),
    .hit_o(read_rsp_o.hit),
    .miss_o(read_rsp_o.miss),
    .load_o(read_load),
    .index_o(read_index),
    .grant_i(read_grant),
    .window_i(window)
  );

  firewall_lookup #(
    .NumWindows(NumWindows),
    .Write(1'b1)
  ) u_write (
    .clk_i,
    .rst_ni,
    .changed_i(changed),
    .look_i(write_req_i.look),
    .page_i(write_req_i.page),
    .context_i(write_req_i.context_id),
    .taken_i(write_req_i.taken),
    .hit_o(write_rsp_o.hit),
    .miss_o(write_rsp_o.miss),
    .load_o(write_load),
    .index_o(write_index),
    .grant_i(write_grant),
    .window_i(window)
  );

endmodule
