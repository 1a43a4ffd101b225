-f ../hls_wrapper/hls_wrapper.f
rtl/row_probe.sv
