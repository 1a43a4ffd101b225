-f ../hls_wrapper/hls_wrapper.f
rtl/skeleton_core.sv
rtl/skeleton.sv
