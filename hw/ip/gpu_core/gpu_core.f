-f ../gpu_fpu/gpu_fpu.f
-f ../gpu_cache/gpu_cache.f
rtl/gpu_decode.sv
rtl/gpu_warp_select.sv
rtl/gpu_buffers.sv
rtl/gpu_front.sv
rtl/gpu_scoreboard.sv
rtl/gpu_regfile.sv
rtl/gpu_muldiv.sv
rtl/gpu_units.sv
rtl/gpu_lanes.sv
rtl/gpu_counters.sv
rtl/gpu_events.sv
rtl/gpu_csr.sv
rtl/gpu_group.sv
rtl/gpu_barriers.sv
rtl/gpu_warps.sv
rtl/gpu_life.sv
rtl/gpu_trap.sv
rtl/gpu_trap_value.sv
rtl/gpu_stack_guard.sv
rtl/gpu_flow.sv
rtl/gpu_execute.sv
rtl/gpu_writeback.sv
rtl/gpu_trace.sv
rtl/gpu_core.sv
