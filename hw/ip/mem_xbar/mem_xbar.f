-f ../eddy_pkg/eddy_pkg.f
rtl/mem_xbar.sv
