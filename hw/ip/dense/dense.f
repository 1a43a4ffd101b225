-f ../hls_wrapper/hls_wrapper.f
-f ../nn_lanes/nn_lanes.f
rtl/dense_core.sv
rtl/dense.sv
