../../regs/generated/axi_intc_regs_pkg.sv
rtl/axi_intc.sv
