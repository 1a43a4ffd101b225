-f ../hls_wrapper/hls_wrapper.f
-f ../image_blocks/image_blocks.f
rtl/level_shift.sv
