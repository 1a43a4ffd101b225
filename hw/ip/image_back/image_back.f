-f ../hls_wrapper/hls_wrapper.f
-f ../quant/quant.f
-f ../dct8/dct8.f
-f ../image_blocks/image_blocks.f
rtl/image_back.sv
