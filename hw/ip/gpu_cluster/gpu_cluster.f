-f ../axi_skid/axi_skid.f
-f ../gpu_core/gpu_core.f
../../regs/generated/identity_regs_pkg.sv
../../regs/generated/gpu_cluster_regs_pkg.sv
rtl/gpu_memory.sv
rtl/gpu_bank.sv
rtl/gpu_cluster.sv
