-f ../hls/hls.f
rtl/hls_words.v
rtl/hls_words_slot.sv
