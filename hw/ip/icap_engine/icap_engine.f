-f ../eddy_pkg/eddy_pkg.f
-f ../regulator/regulator.f
../../regs/generated/icap_engine_regs_pkg.sv
../../regs/generated/icap_engine_regs.sv
rtl/icap_reader.sv
rtl/icap_expander.sv
rtl/icap_port.sv
rtl/icap_engine.sv
