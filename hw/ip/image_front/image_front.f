-f ../hls_wrapper/hls_wrapper.f
-f ../image_blocks/image_blocks.f
-f ../dct8/dct8.f
-f ../quant/quant.f
rtl/image_front.sv
