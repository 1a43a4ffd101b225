-f ../hls_wrapper/hls_wrapper.f
-f ../quant/quant.f
rtl/dequantize.sv
