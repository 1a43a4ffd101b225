/// One instruction word into what the execute stage needs. Purely combinational.
///
/// Ref: RISC-V Unprivileged ISA, RV32I, M, F, Zicsr, Zifencei; thread control: docs/reference/gpu-isa.md.
module gpu_decode
  import gpu_pkg::*;
#(
  /// Whether there is a floating-point unit; without one its instructions are illegal.
  parameter bit Fpu = 1'b1
) (
  input  logic [31:0] instr_i,
  output unit_e       unit_o,
  output alu_e        alu_o,
  /// Operation within a unit: funct3, or what the unit's own numbering says.
  output logic [2:0]  sub_o,
  /// Second choice within a unit: vote/shuffle, mret ...
  output logic        rd_we_o,
  /// Register numbers; bit 5 set: a floating-point register.
  output logic [5:0]  rd_o,
  output logic [5:0]  rs1_o,
  output logic [5:0]  rs2_o,
  output logic [5:0]  rs3_o,
  output logic        a_is_pc_o,
  output logic        b_is_imm_o,
  output logic [31:0] imm_o,
  /// Operation of the floating-point unit.
  output logic [4:0]  fp_op_o,
  output logic        fp_uses_rm_o
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

  always_comb begin
    unit_o = UnitIllegal;
    alu_o = AluAdd;
    sub_o = funct3;
    rd_we_o = 1'b0;
    rd_o = {1'b0, rd};
    rs1_o = {1'b0, rs1};
    rs2_o = {1'b0, rs2};
    rs3_o = {1'b1, instr_i[31:27]};
    a_is_pc_o = 1'b0;
    b_is_imm_o = 1'b0;
    imm_o = imm_i;
    fp_op_o = '0;
    fp_uses_rm_o = 1'b0;
    unique case (instr_i[6:0])
      7'h37, 7'h17: begin  // lui, auipc
        unit_o = UnitAlu;
        alu_o = instr_i[5] ? AluB : AluAdd;
        a_is_pc_o = 1'b1;
        b_is_imm_o = 1'b1;
        imm_o = imm_u;
        rd_we_o = rd != '0;
      end
      7'h6f: begin
        unit_o = UnitJal;
        imm_o = imm_j;
        rd_we_o = rd != '0;
      end
      7'h67: begin
        if (funct3 == '0) unit_o = UnitJalr;
        rd_we_o = rd != '0;
      end
      7'h63: begin
        if (funct3[2:1] != 2'b01) unit_o = UnitBranch;
        imm_o = imm_b;
      end
      7'h03: begin
        if (funct3 != 3'd3 && funct3 < 3'd6) unit_o = UnitLoad;
        rd_we_o = rd != '0;
      end
      7'h23: begin
        if (funct3 < 3'd3) unit_o = UnitStore;
        imm_o = imm_s;
      end
      7'h13: begin
        b_is_imm_o = 1'b1;
        rd_we_o = rd != '0;
        alu_o = alu_e'({1'b0, funct3});
        if (funct3[1:0] != 2'b01) unit_o = UnitAlu;
        else if (funct7 == '0) unit_o = UnitAlu;
        else if (funct7 == 7'h20 && funct3[2]) begin
          unit_o = UnitAlu;
          alu_o = AluSra;
        end
      end
      7'h33: begin
        rd_we_o = rd != '0;
        alu_o = alu_e'({1'b0, funct3});
        if (funct7 == '0) unit_o = UnitAlu;
        else if (funct7 == 7'h20 && funct3 == 3'd0) begin
          unit_o = UnitAlu;
          alu_o = AluSub;
        end else if (funct7 == 7'h20 && funct3 == 3'd5) begin
          unit_o = UnitAlu;
          alu_o = AluSra;
        end else if (funct7 == 7'd1) unit_o = UnitMulDiv;
      end
      7'h0f: begin
        if (funct3[2:1] == '0) unit_o = UnitFence;
      end
      7'h73: begin
        if (funct3[1:0] != '0) begin
          unit_o = UnitCsr;
          rd_we_o = rd != '0;
        end else if (funct3 == '0 && rd == '0 && rs1 == '0) begin
          unique case (instr_i[31:20])
            12'h000: begin unit_o = UnitSystem; sub_o = SysEcall; end
            12'h001: begin unit_o = UnitSystem; sub_o = SysEbreak; end
            12'h302: begin unit_o = UnitSystem; sub_o = SysMret; end
            12'h105: begin unit_o = UnitSystem; sub_o = SysWfi; end
            default: ;
          endcase
        end
      end
      7'h0b: begin
        if (funct7 == '0 && funct3 < 3'd6) begin
          unit_o = UnitWarp;
          rd_we_o = funct3 == WarpSplit && rd != '0;
        end else if (funct7 == 7'd1) begin
          unit_o = UnitLane;
          rd_we_o = rd != '0;
        end
      end
      default: ;
    endcase
    if (Fpu) begin
      unique case (instr_i[6:0])
        7'h07: begin
          if (funct3 == 3'd2) unit_o = UnitLoad;
          rd_o[5] = 1'b1;
          rd_we_o = 1'b1;
        end
        7'h27: begin
          if (funct3 == 3'd2) unit_o = UnitStore;
          rs2_o[5] = 1'b1;
          imm_o = imm_s;
        end
        7'h43, 7'h47, 7'h4b, 7'h4f: begin
          if (instr_i[26:25] == '0) unit_o = UnitFpu;
          {rd_o[5], rs1_o[5], rs2_o[5]} = 3'b111;
          rd_we_o = 1'b1;
          fp_op_o = {3'd0, instr_i[3:2]};
          fp_uses_rm_o = 1'b1;
        end
        7'h53: begin
          {rd_o[5], rs1_o[5], rs2_o[5]} = 3'b111;
          rd_we_o = 1'b1;
          unique case (funct7)
            7'h00, 7'h04, 7'h08, 7'h0c: begin
              unit_o = UnitFpu;
              fp_op_o = 5'd4 + {3'd0, funct7[3:2]};
              fp_uses_rm_o = 1'b1;
            end
            7'h2c: begin
              if (rs2 == '0) unit_o = UnitFpu;
              fp_op_o = 5'd8;
              fp_uses_rm_o = 1'b1;
            end
            7'h10: begin
              if (funct3 < 3'd3) unit_o = UnitFpu;
              fp_op_o = 5'd9 + {2'd0, funct3};
            end
            7'h14: begin
              if (funct3 < 3'd2) unit_o = UnitFpu;
              fp_op_o = 5'd12 + {2'd0, funct3};
            end
            7'h50: begin
              if (funct3 < 3'd3) unit_o = UnitFpu;
              fp_op_o = 5'd16 - {2'd0, funct3};
              rd_o[5] = 1'b0;
              rd_we_o = rd != '0;
            end
            7'h60: begin
              if (rs2 < 5'd2) unit_o = UnitFpu;
              fp_op_o = 5'd18 + {4'd0, rs2[0]};
              fp_uses_rm_o = 1'b1;
              rd_o[5] = 1'b0;
              rd_we_o = rd != '0;
            end
            7'h68: begin
              if (rs2 < 5'd2) unit_o = UnitFpu;
              fp_op_o = 5'd20 + {4'd0, rs2[0]};
              fp_uses_rm_o = 1'b1;
              rs1_o[5] = 1'b0;
            end
            7'h70: begin
              rd_o[5] = 1'b0;
              rd_we_o = rd != '0;
              fp_op_o = 5'd17;
              alu_o = AluA;
              if (rs2 == '0 && funct3 == 3'd0) unit_o = UnitAlu;
              if (rs2 == '0 && funct3 == 3'd1) unit_o = UnitFpu;
            end
            7'h78: begin
              rs1_o[5] = 1'b0;
              alu_o = AluA;
              if (rs2 == '0 && funct3 == '0) unit_o = UnitAlu;
            end
            default: ;
          endcase
        end
        default: ;
      endcase
    end
  end

endmodule
