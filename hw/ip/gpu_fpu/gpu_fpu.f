rtl/gpu_fpu_pkg.sv
rtl/gpu_fpu_prepare_pkg.sv
rtl/gpu_fpu_move_pkg.sv
rtl/gpu_fpu_round_pkg.sv
rtl/gpu_fpu_div_lane.sv
rtl/gpu_fpu_lane.sv
rtl/gpu_fpu.sv
