-f ../eddy_pkg/eddy_pkg.f
rtl/fair_turns.sv
rtl/mem_xbar.sv
