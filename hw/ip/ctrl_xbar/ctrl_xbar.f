-f ../eddy_pkg/eddy_pkg.f
rtl/ctrl_bridge.sv
rtl/ctrl_xbar.sv
