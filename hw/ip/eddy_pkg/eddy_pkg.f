rtl/eddy_pkg.sv
