rtl/xpm_fifo_sync.sv
rtl/xpm_fifo_async.sv
rtl/fp_model.sv
