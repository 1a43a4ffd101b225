-f ../hls_wrapper/hls_wrapper.f
-f ../nn_lanes/nn_lanes.f
rtl/conv_pool_core.sv
rtl/conv_pool.sv
