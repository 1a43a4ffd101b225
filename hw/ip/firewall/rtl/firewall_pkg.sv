// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
/// What the firewall and the slot's registers agree on.
package firewall_pkg;

  import eddy_pkg::*;

  /// Bits of an address within a page: the extent an AXI burst may not leave, and the grain of a window.
  parameter int unsigned PageBits = 12;
  parameter int unsigned PageWidth = AddrWidth - PageBits;
  parameter int unsigned NumContexts = 1 << ContextWidth;

  /// Why the firewall interfered: names and meaning as in the board port's `Cause`, codes as in the cause register.
  typedef enum logic [3:0] {
    CauseNone              = 4'd0,
    CauseControlTimeout    = 4'd1,
    CauseControlRefused    = 4'd2,
    CauseReadOutsideWindow = 4'd3,
    CauseWriteOutsideWindow = 4'd4,
    CauseIllegalBurst      = 4'd5,
    CauseWriteStalled      = 4'd6,
    CauseResponseStalled   = 4'd7,
    /// Not raised here; kept for the clock monitor, so that one register holds every cause.
    CauseClockLost         = 4'd8
  } cause_e;

  /// Whole pages a module may reach: first to last page, both included.
  typedef struct packed {
    logic [NumContexts-1:0] contexts;  ///< Bit c: applies to context c.
    logic                   write;     ///< Writes allowed.
    logic                   read;      ///< Reads allowed.
    logic [PageWidth-1:0]   last;      ///< Address bits 39:12 of the last page.
    logic [PageWidth-1:0]   base;      ///< Address bits 39:12 of the first page.
  } window_t;

  /// A request that asks whether a window lets it through, and that it is taken in this cycle; the answer.
  typedef struct packed {
    logic                    look;
    logic                    taken;
    logic [PageWidth-1:0]    page;
    logic [ContextWidth-1:0] context_id;
  } lookup_req_t;

  typedef struct packed {
    logic hit;
    logic miss;
  } lookup_rsp_t;

  /// What went wrong first: an address (of the control path: the offset in the module's window), and whose it was.
  typedef struct packed {
    cause_e                  cause;
    logic [AddrWidth-1:0]    addr;
    logic [ContextWidth-1:0] context_id;
  } fault_t;

  /// Whose fault it is.
  typedef struct packed {
    logic [AddrWidth-1:0]    addr;
    logic [ContextWidth-1:0] context_id;
  } blamed_t;

  /// Read data of a register access that failed: 0xDEAD, then the offset.
  function automatic logic [CtrlDataWidth-1:0] poison(logic [CtrlAddrWidth-1:0] addr);
    return {16'hDEAD, addr};
  endfunction

  /// Whether AXI allows the burst; if it does, all its bytes lie in the page of its address.
  ///
  /// Ref: IHI 0022, A3.4.1 "Address structure".
  function automatic logic burst_is_legal(logic [PageBits-1:0] addr, logic [7:0] len, logic [2:0] size,
                                          logic [1:0] burst);
    logic [PageBits-1:0] mask, after;
    logic in_page, aligned, wraps;
    mask = (PageBits'(1) << size[1:0]) - PageBits'(1);
    // Beats of the page behind the first. Counted in beats, nothing is added before it is compared.
    after = ~addr >> size[1:0];
    in_page = after[PageBits-1:8] != '0 || len <= after[7:0];
    aligned = (addr & mask) == '0;
    // Beats of 16 bytes are looked at beside the others, so that none waits for a wider shift.
    if (StrbWidth > 8 && size[2]) begin
      in_page = len <= ~addr[PageBits-1:4];
      aligned = addr[3:0] == '0;
    end
    // 2, 4, 8 or 16 beats from an aligned address; wraps within a container aligned to its own size.
    wraps = (len == 8'd1 || len == 8'd3 || len == 8'd7 || len == 8'd15) && aligned;
    // FIXED: at most 16 beats, all in the container of the first.
    return size <= 3'(BeatBits)
        && ((burst == BurstIncr && in_page) || (burst == BurstFixed && len < 8'd16) || (burst == BurstWrap && wraps));
  endfunction

endpackage
