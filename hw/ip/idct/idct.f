-f ../hls_wrapper/hls_wrapper.f
-f ../dct8/dct8.f
rtl/idct.sv
