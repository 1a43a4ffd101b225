// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
/// One instruction word into what the execute stage needs. Purely combinational.
///
/// Ref: RISC-V Unprivileged ISA, RV32I, M, F, Zicsr, Zifencei, Zaamo, Zacas (words); thread control: docs/reference/gpu-isa.md.
module gpu_decode
  import gpu_pkg::*;
#(
  /// Whether there is a floating-point unit; without one its instructions are illegal.
  parameter bit Fpu = 1'b1
) (
  /// Without it what comes out means nothing.
  input  logic        valid_i,
  input  logic [31:0] instr_i,
  output decoded_t    op_o,
  output needs_t      needs_o
);

  logic [4:0] rd, rs1, rs2;
  logic [2:0] funct3;
  logic [6:0] funct7;
  logic [31:0] imm_i, imm_s, imm_b, imm_u, imm_j;

  assign rd = instr_i[11:7];
  assign rs1 = instr_i[19:15];
  assign rs2 = instr_i[24:20];
  assign funct3 = instr_i[14:12];
  assign funct7 = instr_i[31:25];
  assign imm_i = {{20{instr_i[31]}}, instr_i[31:20]};
  assign imm_s = {{20{instr_i[31]}}, instr_i[31:25], instr_i[11:7]};
  assign imm_b = {{20{instr_i[31]}}, instr_i[7], instr_i[30:25], instr_i[11:8], 1'b0};
  assign imm_u = {instr_i[31:12], 12'd0};
  assign imm_j = {{12{instr_i[31]}}, instr_i[19:12], instr_i[20], instr_i[30:21], 1'b0};

  // Whether there is a control and status register of this number, and whether the instruction may do with it what it asks.
  function automatic logic may_access(logic [11:0] number, logic writes);
    logic known;
    unique case (number)
      12'h001, 12'h002, 12'h003: known = Fpu;
      12'h300, 12'h301, 12'h304, 12'h305, 12'h340, 12'h341, 12'h342, 12'h343, 12'h344: known = 1'b1;
      12'h7c0, 12'h7c1, 12'h7c2: known = 1'b1;
      12'hc00, 12'hc02, 12'hc80, 12'hc82: known = 1'b1;
      12'hcc0, 12'hcc1, 12'hcc2, 12'hcc3, 12'hcc4: known = 1'b1;
      12'hf11, 12'hf12, 12'hf13, 12'hf14, 12'hf15: known = 1'b1;
      12'hfc0, 12'hfc1, 12'hfc2, 12'hfc3, 12'hfd0: known = 1'b1;
      // The window on the counters.
      default: known = number[11:8] == 4'hb && number[6:5] == '0 && number[4:0] != 5'd1;
    endcase
    return known && !(writes && number[11:10] == 2'b11);
  endfunction

  // What changes memory must not be seen by loads before it; barriers, ends and handlers find nothing under way; nor do
  // flags of floating point miss an operation.
  localparam units_t LastUnits = FenceUnits | only(UnitWarp) | only(UnitSystem);

  always_comb begin
    op_o = 'x;
    needs_o = 'x;
    if (valid_i) begin
      automatic unit_e unit;
      automatic alu_e alu;
      automatic logic [2:0] sub;
      automatic reg_t to, first, second, third;
      automatic logic [4:0] fp_op;
      automatic logic [31:0] imm;
      automatic logic rd_we, b_is_imm, from_zero, subtracts, is_signed, dynamic, flags;
      // A floating-point operation that rounds as its funct3 says.
      automatic logic rounds;
      unit = UnitIllegal;
      alu = AluAdd;
      sub = funct3;
      to = {1'b0, rd};
      imm = imm_i;
      first = {1'b0, rs1};
      second = '0;
      third = '0;
      fp_op = '0;
      {rd_we, b_is_imm, from_zero, subtracts, is_signed, rounds, flags} = '0;
      unique case (instr_i[6:0])
        7'h37, 7'h17: begin  // lui, auipc
          unit = UnitAlu;
          first = '0;
          alu = AluWord;
          from_zero = instr_i[5];
          imm = imm_u;
          rd_we = rd != '0;
        end
        7'h6f: begin
          unit = UnitJal;
          first = '0;
          imm = imm_j;
          rd_we = rd != '0;
        end
        7'h67: begin
          if (funct3 == '0) unit = UnitJalr;
          b_is_imm = 1'b1;
          rd_we = rd != '0;
        end
        7'h63: begin
          if (funct3[2:1] != 2'b01) unit = UnitBranch;
          subtracts = 1'b1;
          is_signed = !funct3[1];
          imm = imm_b;
          second = {1'b0, rs2};
        end
        7'h03: begin
          if (funct3 != 3'd3 && funct3 < 3'd6) unit = UnitLoad;
          b_is_imm = 1'b1;
          rd_we = rd != '0;
        end
        7'h23: begin
          if (funct3 < 3'd3) unit = UnitStore;
          b_is_imm = 1'b1;
          second = {1'b0, rs2};
          imm = imm_s;
        end
        7'h13: begin
          b_is_imm = 1'b1;
          rd_we = rd != '0;
          alu = alu_e'({1'b0, funct3});
          subtracts = funct3[2:1] == 2'b01;
          is_signed = !funct3[0];
          if (funct3[1:0] != 2'b01) unit = UnitAlu;
          else if (funct7 == '0) unit = UnitAlu;
          else if (funct7 == 7'h20 && funct3[2]) begin
            unit = UnitAlu;
            alu = AluSra;
          end
        end
        7'h33: begin
          second = {1'b0, rs2};
          rd_we = rd != '0;
          alu = alu_e'({1'b0, funct3});
          subtracts = funct3[2:1] == 2'b01;
          is_signed = !funct3[0];
          if (funct7 == '0) unit = UnitAlu;
          else if (funct7 == 7'h20 && funct3 == 3'd0) begin
            unit = UnitAlu;
            alu = AluSub;
            subtracts = 1'b1;
          end else if (funct7 == 7'h20 && funct3 == 3'd5) begin
            unit = UnitAlu;
            alu = AluSra;
          end else if (funct7 == 7'd1) unit = UnitMulDiv;
        end
        7'h2f: begin  // atomics; bits 26:25 order
          unique case (funct7[6:2])
            5'h00, 5'h01, 5'h04, 5'h05, 5'h08, 5'h0c, 5'h10, 5'h14, 5'h18, 5'h1c: if (funct3 == 3'd2) unit = UnitAmo;
            default: ;
          endcase
          imm = '0;
          b_is_imm = 1'b1;
          second = {1'b0, rs2};
          third = {1'b0, rd};
          rd_we = rd != '0;
        end
        7'h0f: begin
          if (funct3[2:1] == '0) unit = UnitFence;
        end
        7'h73: begin
          if (funct3[1:0] != '0) begin
            if (may_access(imm_i[11:0], funct3[1:0] == 2'd1 || rs1 != '0)) unit = UnitCsr;
            flags = imm_i[11:2] == '0;
            // Its operand is a sum, of a register and nothing, or of nothing and the immediate.
            imm = funct3[2] ? {27'd0, rs1} : '0;
            b_is_imm = 1'b1;
            if (funct3[2]) first = '0;
            rd_we = rd != '0;
          end else if (funct3 == '0 && rd == '0 && rs1 == '0) begin
            unique case (instr_i[31:20])
              12'h000: begin unit = UnitSystem; sub = SysEcall; end
              12'h001: begin unit = UnitSystem; sub = SysEbreak; end
              12'h302: begin unit = UnitSystem; sub = SysMret; end
              12'h105: begin unit = UnitSystem; sub = SysWfi; end
              default: ;
            endcase
          end
        end
        7'h0b: begin
          second = {1'b0, rs2};
          if (funct7 == '0 && funct3 < 3'd6) begin
            unit = UnitWarp;
            rd_we = funct3 == WarpSplit && rd != '0;
          end else if (funct7 == 7'd1) begin
            unit = UnitLane;
            rd_we = rd != '0;
          end
        end
        default: ;
      endcase
      if (Fpu) begin
        unique case (instr_i[6:0])
          7'h07: begin
            if (funct3 == 3'd2) unit = UnitLoad;
            b_is_imm = 1'b1;
            to[5] = 1'b1;
            rd_we = 1'b1;
          end
          7'h27: begin
            if (funct3 == 3'd2) unit = UnitStore;
            b_is_imm = 1'b1;
            second = {1'b1, rs2};
            imm = imm_s;
          end
          7'h43, 7'h47, 7'h4b, 7'h4f: begin
            if (instr_i[26:25] == '0) unit = UnitFpu;
            {to[5], first[5]} = 2'b11;
            second = {1'b1, rs2};
            third = {1'b1, instr_i[31:27]};
            rd_we = 1'b1;
            fp_op = {3'd0, instr_i[3:2]};
            rounds = 1'b1;
          end
          7'h53: begin
            {to[5], first[5]} = 2'b11;
            rd_we = 1'b1;
            unique case (funct7)
              7'h00, 7'h04, 7'h08, 7'h0c: begin
                unit = UnitFpu;
                second = {1'b1, rs2};
                fp_op = 5'd4 + {3'd0, funct7[3:2]};
                rounds = 1'b1;
              end
              7'h2c: begin
                if (rs2 == '0) unit = UnitFpu;
                fp_op = 5'd8;
                rounds = 1'b1;
              end
              7'h10: begin
                if (funct3 < 3'd3) unit = UnitFpu;
                second = {1'b1, rs2};
                fp_op = 5'd9 + {2'd0, funct3};
              end
              7'h14: begin
                if (funct3 < 3'd2) unit = UnitFpu;
                second = {1'b1, rs2};
                fp_op = 5'd12 + {2'd0, funct3};
              end
              7'h50: begin
                if (funct3 < 3'd3) unit = UnitFpu;
                second = {1'b1, rs2};
                fp_op = 5'd16 - {2'd0, funct3};
                to[5] = 1'b0;
                rd_we = rd != '0;
              end
              7'h60: begin
                if (rs2 < 5'd2) unit = UnitFpu;
                fp_op = 5'd18 + {4'd0, rs2[0]};
                rounds = 1'b1;
                to[5] = 1'b0;
                rd_we = rd != '0;
              end
              7'h68: begin
                if (rs2 < 5'd2) unit = UnitFpu;
                fp_op = 5'd20 + {4'd0, rs2[0]};
                rounds = 1'b1;
                first[5] = 1'b0;
              end
              7'h70: begin
                to[5] = 1'b0;
                rd_we = rd != '0;
                fp_op = 5'd17;
                alu = AluA;
                if (rs2 == '0 && funct3 == 3'd0) unit = UnitAlu;
                if (rs2 == '0 && funct3 == 3'd1) unit = UnitFpu;
              end
              7'h78: begin
                first[5] = 1'b0;
                alu = AluA;
                if (rs2 == '0 && funct3 == '0) unit = UnitAlu;
              end
              default: ;
            endcase
          end
          default: ;
        endcase
      end
      // Rounding modes 5 and 6 are none; 7 is that of the warp.
      dynamic = 1'b0;
      if (rounds) begin
        dynamic = funct3 == 3'd7;
        if (funct3 inside {3'd5, 3'd6}) unit = UnitIllegal;
      end
      op_o = '{
        unit: unit, alu: alu, sub: sub, rd_we: rd_we, rd: to, b_is_imm: b_is_imm, from_zero: from_zero, subtracts: subtracts,
        is_signed: is_signed, fp_op: fp_op, fp_dynamic: dynamic, imm: imm
      };
      needs_o = '{
        after_loads: unit == UnitStore, after_all: LastUnits[unit] || (unit == UnitCsr && flags),
        rd: rd_we ? to : '0, reads: '{rs1: first, rs2: second, rs3: third}
      };
    end
  end

endmodule
