rtl/flow_pkg.sv
rtl/flow_window.sv
