-f ../eddy_pkg/eddy_pkg.f
-f ../async_fifo/async_fifo.f
-f ../axi_skid/axi_skid.f
rtl/decoupler.sv
