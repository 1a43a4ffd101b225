// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
`include "axi_ports.svh"

/// Routes the CPU's register accesses, each to one bank.
///
/// One access at a time; of a read and a write waiting together, they take turns. A bank sees `sel_o` for one cycle with
/// the payload beside it, and answers with `ack_i` in a later cycle; every bank answers within a bound of its own, so
/// the CPU is answered within the largest of them plus four cycles. An address nothing answers at is answered OKAY with
/// 0xDEAD0001, or SLVERR where `slverr_i` is set, and reported in `miss_o`.
module ctrl_xbar
  import window_addr_pkg::*;
#(
  /// Slots, as many as the address map has control banks at the most.
  parameter int unsigned NumSlots = 1,
  /// Whether there is a configuration engine; whether there are streams between slots.
  parameter bit          Engine = 1'b0,
  parameter bit          Streams = 1'b0,
  /// Banks: shell, interrupt controller, one control bank a slot, one module window a slot, the streams', the engine's.
  parameter int unsigned NumBanks = 2 + 2 * NumSlots + 32'(Streams) + 32'(Engine)
) (
  input  logic                clk_i,
  /// Synchronous reset, active low.
  input  logic                rst_ni,

  `AXIL_PORTS(s_axil, 24, input logic, output logic),

  /// Answer bad accesses SLVERR.
  input  logic                slverr_i,
  /// Pulse: no bank at the address of an access; that address.
  output logic                miss_o,
  output logic [23:0]         miss_addr_o,

  /// Pulse, one bit a bank; the payload holds until the answer.
  output logic [NumBanks-1:0] sel_o,
  output logic                write_o,
  output logic [15:0]         addr_o,
  output logic [ 2:0]         prot_o,
  output logic [31:0]         wdata_o,
  output logic [ 3:0]         wstrb_o,
  input  logic [NumBanks-1:0] ack_i,
  /// With the acknowledge: no register there; an error to pass on as SLVERR.
  input  logic [NumBanks-1:0] err_i,
  input  logic [NumBanks-1:0] fail_i,
  input  logic [31:0]         rdata_i [NumBanks]
);

  if (NumSlots < 1 || NumSlots > ControlCount || NumSlots > ModuleCount) begin : gen_check_slots
    $fatal(1, "ctrl_xbar: NumSlots must be 1 to the number of banks in the address map");
  end
  if (ControlStride != 32'h1_0000 || ModuleStride != 32'h1_0000) begin : gen_check_stride
    $fatal(1, "ctrl_xbar: address bits 23 to 16 choose the bank, so banks are 64 KiB apart");
  end

  localparam int unsigned BankWidth = $clog2(NumBanks);
  localparam logic [31:0] Poison = 32'hDEAD_0001;
  /// Pages of 64 KiB: what address bits 23 to 16 are there.
  localparam logic [7:0] ShellPage = ShellOffset[23:16];
  localparam logic [7:0] IntcPage = IntcOffset[23:16];
  localparam logic [7:0] ControlPage = ControlOffset[23:16];
  localparam logic [7:0] ModulePage = ModuleOffset[23:16];
  localparam logic [7:0] EnginePage = EngineOffset[23:16];
  localparam logic [7:0] StreamsPage = StreamsOffset[23:16];

  typedef logic [BankWidth-1:0] bank_t;
  typedef enum logic [1:0] {
    Idle,
    Wait,
    Answer
  } state_e;

  state_e state_q;
  logic aw_ready_q, w_ready_q, ar_ready_q, aw_held_q, w_held_q, ar_held_q;
  logic [23:0] aw_addr_q, ar_addr_q;
  logic [2:0] aw_prot_q, ar_prot_q;
  logic [31:0] w_data_q;
  logic [3:0] w_strb_q;
  logic write_last_q;

  logic start, start_write, hit, done, bad, failed;
  logic [23:0] start_addr;
  logic [7:0] page;
  bank_t bank, bank_q;
  logic [NumBanks-1:0] sel_q;
  logic write_q, b_valid_q, r_valid_q, miss_q;
  logic [23:0] addr_q;
  logic [2:0] prot_q;
  logic [31:0] rdata_q, answer;
  logic [1:0] resp_q;

  // A read goes first unless a read went last.
  assign start_write = aw_held_q && w_held_q && (!ar_held_q || !write_last_q);
  assign start = state_q == Idle && (start_write || ar_held_q);

  always_comb begin
    start_addr = '0;
    page = '0;
    bank = '0;
    hit = 1'b0;
    if (start) begin
      start_addr = start_write ? aw_addr_q : ar_addr_q;
      page = start_addr[23:16];
      if (page == ShellPage || page == IntcPage) begin
        hit = 1'b1;
        bank = bank_t'(page == IntcPage);
      end else if (page >= ControlPage && page < ControlPage + 8'(NumSlots)) begin
        hit = 1'b1;
        bank = bank_t'(page - (ControlPage - 8'd2));
      end else if (page >= ModulePage && page < ModulePage + 8'(NumSlots)) begin
        hit = 1'b1;
        bank = bank_t'(page - (ModulePage - 8'(2 + NumSlots)));
      end else if (Engine && page == EnginePage) begin
        hit = 1'b1;
        bank = bank_t'(NumBanks - 1);
      end else if (Streams && page == StreamsPage) begin
        hit = 1'b1;
        bank = bank_t'(2 + 2 * NumSlots);
      end
    end
  end

  always_comb begin
    done = 1'b0;
    bad = 1'b0;
    failed = 1'b0;
    answer = Poison;
    if (state_q == Wait) begin
      done = ack_i[bank_q];
      bad = err_i[bank_q];
      failed = fail_i[bank_q];
      if (!bad) answer = rdata_i[bank_q];
    end
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      state_q <= Idle;
      sel_q <= '0;
      bank_q <= '0;
      write_q <= 1'b0;
      write_last_q <= 1'b0;
      addr_q <= '0;
      prot_q <= '0;
      rdata_q <= '0;
      resp_q <= '0;
      b_valid_q <= 1'b0;
      r_valid_q <= 1'b0;
      miss_q <= 1'b0;
    end else begin
      sel_q <= '0;
      miss_q <= 1'b0;
      unique case (state_q)
        Idle: begin
          if (start) begin
            bank_q <= bank;
            write_q <= start_write;
            write_last_q <= start_write;
            addr_q <= start_addr;
            prot_q <= start_write ? aw_prot_q : ar_prot_q;
            if (hit) begin
              sel_q[bank] <= 1'b1;
              state_q <= Wait;
            end else begin
              miss_q <= 1'b1;
              rdata_q <= Poison;
              resp_q <= {slverr_i, 1'b0};
              b_valid_q <= start_write;
              r_valid_q <= !start_write;
              state_q <= Answer;
            end
          end
        end
        Wait: begin
          if (done) begin
            miss_q <= bad;
            rdata_q <= answer;
            resp_q <= {failed || (bad && slverr_i), 1'b0};
            b_valid_q <= write_q;
            r_valid_q <= !write_q;
            state_q <= Answer;
          end
        end
        default: begin
          if (write_q ? s_axil_bready : s_axil_rready) begin
            b_valid_q <= 1'b0;
            r_valid_q <= 1'b0;
            state_q <= Idle;
          end
        end
      endcase
    end
  end

  // The CPU's request; ready falls with the handshake, so a request is held until it is answered.
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      aw_ready_q <= 1'b0;
      w_ready_q <= 1'b0;
      ar_ready_q <= 1'b0;
      aw_held_q <= 1'b0;
      w_held_q <= 1'b0;
      ar_held_q <= 1'b0;
    end else begin
      if (start && start_write) begin
        aw_held_q <= 1'b0;
        w_held_q <= 1'b0;
      end
      if (start && !start_write) ar_held_q <= 1'b0;
      if (s_axil_awvalid && aw_ready_q) begin
        aw_held_q <= 1'b1;
        aw_ready_q <= 1'b0;
      end else if (!aw_held_q) aw_ready_q <= 1'b1;
      if (s_axil_wvalid && w_ready_q) begin
        w_held_q <= 1'b1;
        w_ready_q <= 1'b0;
      end else if (!w_held_q && state_q == Idle) w_ready_q <= 1'b1;
      if (s_axil_arvalid && ar_ready_q) begin
        ar_held_q <= 1'b1;
        ar_ready_q <= 1'b0;
      end else if (!ar_held_q) ar_ready_q <= 1'b1;
    end
  end

  always_ff @(posedge clk_i) begin
    if (s_axil_awvalid && aw_ready_q) begin
      aw_addr_q <= s_axil_awaddr;
      aw_prot_q <= s_axil_awprot;
    end
    if (s_axil_wvalid && w_ready_q) begin
      w_data_q <= s_axil_wdata;
      w_strb_q <= s_axil_wstrb;
    end
    if (s_axil_arvalid && ar_ready_q) begin
      ar_addr_q <= s_axil_araddr;
      ar_prot_q <= s_axil_arprot;
    end
  end

  assign s_axil_awready = aw_ready_q;
  assign s_axil_wready = w_ready_q;
  assign s_axil_arready = ar_ready_q;
  assign s_axil_bvalid = b_valid_q;
  assign s_axil_bresp = resp_q;
  assign s_axil_rvalid = r_valid_q;
  assign s_axil_rdata = rdata_q;
  assign s_axil_rresp = resp_q;

  assign sel_o = sel_q;
  assign write_o = write_q;
  assign addr_o = addr_q[15:0];
  assign prot_o = prot_q;
  assign wdata_o = w_data_q;
  assign wstrb_o = w_strb_q;
  assign miss_o = miss_q;
  assign miss_addr_o = addr_q;

`ifndef SYNTHESIS
  always_ff @(posedge clk_i) begin
    if (rst_ni) begin
      OneBankSelected_A :
      assert ($onehot0(sel_q))
      else $error("ctrl_xbar: two banks selected");
      OneAnswer_A :
      assert (!(b_valid_q && r_valid_q))
      else $error("ctrl_xbar: a read and a write answered at once");
      OnlySelectedBankAnswers_A :
      assert (ack_i == '0 || (state_q == Wait && ack_i == (NumBanks)'(1) << bank_q))
      else $error("ctrl_xbar: a bank answered that was not asked");
    end
  end
`endif

endmodule
