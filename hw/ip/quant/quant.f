rtl/quant_pkg.sv
rtl/quant_core.sv
