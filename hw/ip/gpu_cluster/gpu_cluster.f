-f ../slot_ports/slot_ports.f
-f ../axi_skid/axi_skid.f
-f ../gpu_core/gpu_core.f
../../regs/generated/identity_regs_pkg.sv
../../regs/generated/gpu_cluster_regs_pkg.sv
../gpu_l2/rtl/gpu_l2_fills.sv
../gpu_l2/rtl/gpu_l2_writes.sv
../gpu_l2/rtl/gpu_l2_walk.sv
../gpu_l2/rtl/gpu_l2.sv
rtl/gpu_turns.sv
rtl/gpu_memory.sv
rtl/gpu_line_locks.sv
rtl/gpu_cluster_barriers.sv
rtl/gpu_l2_bank.sv
rtl/gpu_bank.sv
rtl/gpu_cluster.sv
