-f ../gpu_fpu/gpu_fpu.f
-f ../gpu_cache/gpu_cache.f
rtl/gpu_decode.sv
rtl/gpu_regfile.sv
rtl/gpu_muldiv.sv
rtl/gpu_lanes.sv
rtl/gpu_counters.sv
rtl/gpu_csr.sv
rtl/gpu_warps.sv
rtl/gpu_life.sv
rtl/gpu_trap.sv
rtl/gpu_flow.sv
rtl/gpu_trace.sv
rtl/gpu_core.sv
