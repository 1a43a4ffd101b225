rtl/dct8_pkg.sv
rtl/dct8_pass.sv
rtl/dct8_transpose.sv
rtl/dct8_core.sv
