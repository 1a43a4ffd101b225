-f ../async_fifo/async_fifo.f
../../regs/generated/shell_regs_pkg.sv
../../regs/generated/shell_regs.sv
rtl/shell_bank.sv
