rtl/sync_bit.sv
rtl/async_fifo.sv
