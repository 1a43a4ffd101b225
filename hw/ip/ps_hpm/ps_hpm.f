rtl/ps_hpm.sv
