-f ../hls_wrapper/hls_wrapper.f
-f ../flow_window/flow_window.f
rtl/flow_read_input_core.sv
rtl/flow_read_input.sv
