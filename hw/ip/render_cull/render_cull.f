-f ../hls_wrapper/hls_wrapper.f
rtl/render_cull_core.sv
rtl/render_cull.sv
