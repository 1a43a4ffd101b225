/// One instruction word into what the execute stage needs. Purely combinational.
///
/// Ref: RISC-V Unprivileged ISA, RV32I, M, F, Zicsr, Zifencei, Zaamo, Zacas (words); thread control: docs/reference/gpu-isa.md.
module gpu_decode
  import gpu_pkg::*;
#(
  /// Whether there is a floating-point unit; without one its instructions are illegal.
  parameter bit Fpu = 1'b1
) (
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
  logic csr_known, csr_writes;

  always_comb begin
    csr_writes = funct3[1:0] == 2'd1 || rs1 != '0;
    csr_known = 1'b0;
    if (instr_i[6:0] == 7'h73) begin
      unique case (imm_i[11:0])
        12'h001, 12'h002, 12'h003: csr_known = Fpu;
        12'h300, 12'h301, 12'h304, 12'h305, 12'h340, 12'h341, 12'h342, 12'h343, 12'h344: csr_known = 1'b1;
        12'h7c0, 12'h7c1, 12'h7c2: csr_known = 1'b1;
        12'hc00, 12'hc02, 12'hc80, 12'hc82: csr_known = 1'b1;
        12'hcc0, 12'hcc1, 12'hcc2, 12'hcc3, 12'hcc4: csr_known = 1'b1;
        12'hf11, 12'hf12, 12'hf13, 12'hf14, 12'hf15: csr_known = 1'b1;
        12'hfc0, 12'hfc1, 12'hfc2, 12'hfc3, 12'hfd0: csr_known = 1'b1;
        // The window on the counters.
        default: csr_known = imm_i[11:8] == 4'hb && imm_i[6:5] == '0 && imm_i[4:0] != 5'd1;
      endcase
    end
  end

  // A floating-point operation that rounds as its funct3 says.
  logic rounds;

  always_comb begin
    op_o = '0;
    needs_o = '0;
    rounds = 1'b0;
    op_o.unit = UnitIllegal;
    op_o.alu = AluAdd;
    op_o.sub = funct3;
    op_o.rd = {1'b0, rd};
    op_o.imm = imm_i;
    needs_o.reads.rs1 = {1'b0, rs1};
    unique case (instr_i[6:0])
      7'h37, 7'h17: begin  // lui, auipc
        op_o.unit = UnitAlu;
        needs_o.reads.rs1 = '0;
        op_o.alu = AluWord;
        op_o.from_zero = instr_i[5];
        op_o.imm = imm_u;
        op_o.rd_we = rd != '0;
      end
      7'h6f: begin
        op_o.unit = UnitJal;
        needs_o.reads.rs1 = '0;
        op_o.imm = imm_j;
        op_o.rd_we = rd != '0;
      end
      7'h67: begin
        if (funct3 == '0) op_o.unit = UnitJalr;
        op_o.b_is_imm = 1'b1;
        op_o.rd_we = rd != '0;
      end
      7'h63: begin
        if (funct3[2:1] != 2'b01) op_o.unit = UnitBranch;
        op_o.imm = imm_b;
        needs_o.reads.rs2 = {1'b0, rs2};
      end
      7'h03: begin
        if (funct3 != 3'd3 && funct3 < 3'd6) op_o.unit = UnitLoad;
        op_o.b_is_imm = 1'b1;
        op_o.rd_we = rd != '0;
      end
      7'h23: begin
        if (funct3 < 3'd3) op_o.unit = UnitStore;
        op_o.b_is_imm = 1'b1;
        needs_o.reads.rs2 = {1'b0, rs2};
        op_o.imm = imm_s;
      end
      7'h13: begin
        op_o.b_is_imm = 1'b1;
        op_o.rd_we = rd != '0;
        op_o.alu = alu_e'({1'b0, funct3});
        if (funct3[1:0] != 2'b01) op_o.unit = UnitAlu;
        else if (funct7 == '0) op_o.unit = UnitAlu;
        else if (funct7 == 7'h20 && funct3[2]) begin
          op_o.unit = UnitAlu;
          op_o.alu = AluSra;
        end
      end
      7'h33: begin
        needs_o.reads.rs2 = {1'b0, rs2};
        op_o.rd_we = rd != '0;
        op_o.alu = alu_e'({1'b0, funct3});
        if (funct7 == '0) op_o.unit = UnitAlu;
        else if (funct7 == 7'h20 && funct3 == 3'd0) begin
          op_o.unit = UnitAlu;
          op_o.alu = AluSub;
        end else if (funct7 == 7'h20 && funct3 == 3'd5) begin
          op_o.unit = UnitAlu;
          op_o.alu = AluSra;
        end else if (funct7 == 7'd1) op_o.unit = UnitMulDiv;
      end
      7'h2f: begin  // atomics; bits 26:25 order
        unique case (funct7[6:2])
          5'h00, 5'h01, 5'h04, 5'h05, 5'h08, 5'h0c, 5'h10, 5'h14, 5'h18, 5'h1c: if (funct3 == 3'd2) op_o.unit = UnitAmo;
          default: ;
        endcase
        op_o.imm = '0;
        op_o.b_is_imm = 1'b1;
        needs_o.reads.rs2 = {1'b0, rs2};
        needs_o.reads.rs3 = {1'b0, rd};
        op_o.rd_we = rd != '0;
      end
      7'h0f: begin
        if (funct3[2:1] == '0) op_o.unit = UnitFence;
      end
      7'h73: begin
        if (funct3[1:0] != '0) begin
          if (csr_known && !(csr_writes && imm_i[11:10] == 2'b11)) op_o.unit = UnitCsr;
          // Its operand is a sum, of a register and nothing, or of nothing and the immediate.
          op_o.imm = funct3[2] ? {27'd0, rs1} : '0;
          op_o.b_is_imm = 1'b1;
          if (funct3[2]) needs_o.reads.rs1 = '0;
          op_o.rd_we = rd != '0;
        end else if (funct3 == '0 && rd == '0 && rs1 == '0) begin
          unique case (instr_i[31:20])
            12'h000: begin op_o.unit = UnitSystem; op_o.sub = SysEcall; end
            12'h001: begin op_o.unit = UnitSystem; op_o.sub = SysEbreak; end
            12'h302: begin op_o.unit = UnitSystem; op_o.sub = SysMret; end
            12'h105: begin op_o.unit = UnitSystem; op_o.sub = SysWfi; end
            default: ;
          endcase
        end
      end
      7'h0b: begin
        needs_o.reads.rs2 = {1'b0, rs2};
        if (funct7 == '0 && funct3 < 3'd6) begin
          op_o.unit = UnitWarp;
          op_o.rd_we = funct3 == WarpSplit && rd != '0;
        end else if (funct7 == 7'd1) begin
          op_o.unit = UnitLane;
          op_o.rd_we = rd != '0;
        end
      end
      default: ;
    endcase
    if (Fpu) begin
      unique case (instr_i[6:0])
        7'h07: begin
          if (funct3 == 3'd2) op_o.unit = UnitLoad;
          op_o.b_is_imm = 1'b1;
          op_o.rd[5] = 1'b1;
          op_o.rd_we = 1'b1;
        end
        7'h27: begin
          if (funct3 == 3'd2) op_o.unit = UnitStore;
          op_o.b_is_imm = 1'b1;
          needs_o.reads.rs2 = {1'b1, rs2};
          op_o.imm = imm_s;
        end
        7'h43, 7'h47, 7'h4b, 7'h4f: begin
          if (instr_i[26:25] == '0) op_o.unit = UnitFpu;
          {op_o.rd[5], needs_o.reads.rs1[5]} = 2'b11;
          needs_o.reads.rs2 = {1'b1, rs2};
          needs_o.reads.rs3 = {1'b1, instr_i[31:27]};
          op_o.rd_we = 1'b1;
          op_o.fp_op = {3'd0, instr_i[3:2]};
          rounds = 1'b1;
        end
        7'h53: begin
          {op_o.rd[5], needs_o.reads.rs1[5]} = 2'b11;
          op_o.rd_we = 1'b1;
          unique case (funct7)
            7'h00, 7'h04, 7'h08, 7'h0c: begin
              op_o.unit = UnitFpu;
              needs_o.reads.rs2 = {1'b1, rs2};
              op_o.fp_op = 5'd4 + {3'd0, funct7[3:2]};
              rounds = 1'b1;
            end
            7'h2c: begin
              if (rs2 == '0) op_o.unit = UnitFpu;
              op_o.fp_op = 5'd8;
              rounds = 1'b1;
            end
            7'h10: begin
              if (funct3 < 3'd3) op_o.unit = UnitFpu;
              needs_o.reads.rs2 = {1'b1, rs2};
              op_o.fp_op = 5'd9 + {2'd0, funct3};
            end
            7'h14: begin
              if (funct3 < 3'd2) op_o.unit = UnitFpu;
              needs_o.reads.rs2 = {1'b1, rs2};
              op_o.fp_op = 5'd12 + {2'd0, funct3};
            end
            7'h50: begin
              if (funct3 < 3'd3) op_o.unit = UnitFpu;
              needs_o.reads.rs2 = {1'b1, rs2};
              op_o.fp_op = 5'd16 - {2'd0, funct3};
              op_o.rd[5] = 1'b0;
              op_o.rd_we = rd != '0;
            end
            7'h60: begin
              if (rs2 < 5'd2) op_o.unit = UnitFpu;
              op_o.fp_op = 5'd18 + {4'd0, rs2[0]};
              rounds = 1'b1;
              op_o.rd[5] = 1'b0;
              op_o.rd_we = rd != '0;
            end
            7'h68: begin
              if (rs2 < 5'd2) op_o.unit = UnitFpu;
              op_o.fp_op = 5'd20 + {4'd0, rs2[0]};
              rounds = 1'b1;
              needs_o.reads.rs1[5] = 1'b0;
            end
            7'h70: begin
              op_o.rd[5] = 1'b0;
              op_o.rd_we = rd != '0;
              op_o.fp_op = 5'd17;
              op_o.alu = AluA;
              if (rs2 == '0 && funct3 == 3'd0) op_o.unit = UnitAlu;
              if (rs2 == '0 && funct3 == 3'd1) op_o.unit = UnitFpu;
            end
            7'h78: begin
              needs_o.reads.rs1[5] = 1'b0;
              op_o.alu = AluA;
              if (rs2 == '0 && funct3 == '0) op_o.unit = UnitAlu;
            end
            default: ;
          endcase
        end
        default: ;
      endcase
    end
    // Rounding modes 5 and 6 are none; 7 is that of the warp.
    if (rounds && (funct3 inside {3'd5, 3'd6})) op_o.unit = UnitIllegal;
    op_o.fp_dynamic = rounds && funct3 == 3'd7;
    op_o.subtracts = op_o.unit == UnitBranch || (op_o.unit == UnitAlu && (op_o.alu inside {AluSub, AluSlt, AluSltu}));
    op_o.is_signed = (op_o.unit == UnitBranch) ? !op_o.sub[1] : op_o.alu == AluSlt;
    // What changes memory must not be seen by loads before it; barriers, ends and handlers find nothing under way; nor do
    // flags of floating point miss an operation.
    needs_o.rd = op_o.rd_we ? op_o.rd : '0;
    needs_o.after_loads = op_o.unit == UnitStore;
    needs_o.after_all = (op_o.unit inside {UnitFence, UnitWarp, UnitSystem, UnitAmo}) ||
                          (op_o.unit == UnitCsr && imm_i[11:2] == '0);
  end

endmodule
