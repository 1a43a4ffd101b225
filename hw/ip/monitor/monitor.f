-f ../eddy_pkg/eddy_pkg.f
rtl/monitor.sv
