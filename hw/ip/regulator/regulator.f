-f ../eddy_pkg/eddy_pkg.f
rtl/regulator.sv
