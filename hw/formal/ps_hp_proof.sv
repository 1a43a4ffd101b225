// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
/// What leaves toward the processing system's memory port, and what comes back.
///
/// For every input: no request is secure, coherent, exclusive or of priority, nor beyond 40 bits. For any id of eight bits,
/// `mine`: while a request of it is under way, no request of another id goes that memory's answers could not tell from it, and
/// every answer with its id of six bits is given to it. `under_way_q` counts from the requests and answers that pass.
module ps_hp_proof (
  input logic clk_i,
  input logic rst_ni,
  input logic [7:0] mine_i,
  input logic [7:0] s_axi_arid,
  input logic [39:0] s_axi_araddr,
  input logic s_axi_arvalid,
  input logic s_axi_awvalid,
  input logic s_axi_wvalid,
  input logic s_axi_rready,
  input logic m_axi_arready,
  input logic m_axi_awready,
  input logic m_axi_wready,
  input logic [5:0] m_axi_rid,
  input logic m_axi_rlast,
  input logic m_axi_rvalid
);

  logic arready, rready, arvalid, awvalid;
  logic arlock, awlock, aruser, awuser;
  logic [3:0] arcache, awcache, arqos, awqos;
  logic [2:0] arprot, awprot;
  logic [48:0] araddr, awaddr;

  // Both directions are the same block; the claims about ids are shown for reads.
  ps_hp dut (
    .clk_i, .rst_ni, .s_axi_awid(8'd0), .s_axi_awaddr(s_axi_araddr), .s_axi_awlen(8'd0), .s_axi_awsize(3'd3),
    .s_axi_awburst(2'd1), .s_axi_awvalid, .s_axi_awready(), .s_axi_wdata(64'd0), .s_axi_wstrb(8'd0), .s_axi_wlast(1'b1),
    .s_axi_wvalid, .s_axi_wready(), .s_axi_bid(), .s_axi_bresp(), .s_axi_bvalid(), .s_axi_bready(1'b1), .s_axi_arid,
    .s_axi_araddr, .s_axi_arlen(8'd0), .s_axi_arsize(3'd3), .s_axi_arburst(2'd1), .s_axi_arvalid, .s_axi_arready(arready),
    .s_axi_rid(), .s_axi_rdata(), .s_axi_rresp(), .s_axi_rlast(), .s_axi_rvalid(), .s_axi_rready, .m_axi_awid(),
    .m_axi_awaddr(awaddr), .m_axi_awlen(), .m_axi_awsize(), .m_axi_awburst(), .m_axi_awlock(awlock),
    .m_axi_awcache(awcache), .m_axi_awprot(awprot), .m_axi_awqos(awqos), .m_axi_awuser(awuser), .m_axi_awvalid(awvalid),
    .m_axi_awready, .m_axi_wdata(), .m_axi_wstrb(), .m_axi_wlast(), .m_axi_wvalid(), .m_axi_wready, .m_axi_bid(6'd0),
    .m_axi_bresp(2'd0), .m_axi_bvalid(1'b0), .m_axi_bready(), .m_axi_arid(), .m_axi_araddr(araddr), .m_axi_arlen(),
    .m_axi_arsize(), .m_axi_arburst(), .m_axi_arlock(arlock), .m_axi_arcache(arcache), .m_axi_arprot(arprot),
    .m_axi_arqos(arqos), .m_axi_aruser(aruser), .m_axi_arvalid(arvalid), .m_axi_arready, .m_axi_rid, .m_axi_rdata(64'd0),
    .m_axi_rresp(2'd0), .m_axi_rlast, .m_axi_rvalid, .m_axi_rready(rready)
  );

  logic started_q = 1'b0;
  always_ff @(posedge clk_i) started_q <= 1'b1;
  always_comb InReset_M : assume (rst_ni == started_q);
  always_ff @(posedge clk_i) if (started_q) MineStays_M : assume ($stable(mine_i));

  always_comb begin
    NoReadIsSecure_A : assert (!arvalid || (arprot == 3'b010 && arcache == 4'b0011));
    NoWriteIsSecure_A : assert (!awvalid || (awprot == 3'b010 && awcache == 4'b0011));
    NothingElseIsSaid_A : assert ({arlock, awlock, arqos, awqos, aruser, awuser} == '0);
    WithinTheMap_A : assert (araddr[48:40] == '0 && awaddr[48:40] == '0);
  end

  // Requests and answers of the id of six bits that `mine` goes on with, and of `mine`.
  function automatic logic [5:0] narrow(logic [7:0] id);
    return {id[5:4], id[3:2] ^ id[7:6], id[1:0]};
  endfunction
  logic asked, asked_mine, answered;
  assign asked = s_axi_arvalid && arready && narrow(s_axi_arid) == narrow(mine_i);
  assign asked_mine = asked && s_axi_arid == mine_i;
  assign answered = m_axi_rvalid && rready && m_axi_rid == narrow(mine_i);

  logic [4:0] under_way_q;
  // Whether what is under way with that id of six bits is of `mine`; of no account where nothing is.
  logic is_mine_q;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) under_way_q <= '0;
    else under_way_q <= under_way_q + 5'(asked) - 5'(answered && m_axi_rlast);
    if (asked) is_mine_q <= asked_mine;
  end
  // Memory answers what it was asked, and only that.
  always_comb AnswersWereAsked_M : assume (!answered || under_way_q != '0);

  // What the memories must hold for the claims to go on holding.
  logic [3:0] gone, ended;
  logic [1:0] shared;
  assign gone = dut.u_read_ids.gone_ram[narrow(mine_i)].count;
  assign shared = dut.u_read_ids.gone_ram[narrow(mine_i)].shared;
  assign ended = dut.u_read_ids.ended_ram[narrow(mine_i)];

  always_ff @(posedge clk_i) begin
    if (rst_ni) begin
      OneIdUnderWay_A : assert (!asked || under_way_q == '0 || asked_mine == is_mine_q);
      AnswerIsGivenToMine_A : assert (!answered || !is_mine_q || dut.r_id == mine_i);
      AnswerIsNotGivenToMine_A : assert (!answered || is_mine_q || dut.r_id != mine_i);
      TableKnows_A :
      assert (under_way_q <= 5'd15 &&
              (dut.u_read_ids.clearing_q ?
               under_way_q == '0 && (dut.u_read_ids.clear_q <= narrow(mine_i) || (gone == '0 && ended == '0)) :
               4'(gone - ended) == under_way_q[3:0]));
      TableKnowsWhose_A : assert (under_way_q == '0 || is_mine_q == (shared == mine_i[7:6]));
    end
  end

endmodule
