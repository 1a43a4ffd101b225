-f ../eddy_pkg/eddy_pkg.f
rtl/skid_channels.svh
rtl/skid.sv
rtl/stage.sv
rtl/axi_skid.sv
rtl/axil_skid.sv
rtl/axil_stage.sv
