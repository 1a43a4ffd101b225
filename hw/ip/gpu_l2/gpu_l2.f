-f ../eddy_pkg/eddy_pkg.f
../gpu_core/rtl/gpu_pkg.sv
rtl/gpu_l2_fills.sv
rtl/gpu_l2_writes.sv
rtl/gpu_l2_walk.sv
rtl/gpu_l2.sv
