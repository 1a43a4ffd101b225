-f ../eddy_pkg/eddy_pkg.f
-f ../async_fifo/async_fifo.f
rtl/cdc_channels.svh
rtl/reset_pair.sv
rtl/axi_cdc.sv
rtl/axil_cdc.sv
