rtl/image_blocks_reorder.sv
rtl/image_blocks_level.sv
rtl/image_blocks_clip.sv
