-f ../eddy_pkg/eddy_pkg.f
-f ../regulator/regulator.f
-f ../axi_cdc/axi_cdc.f
../../regs/generated/icap_engine_regs_pkg.sv
../../regs/generated/icap_engine_regs.sv
rtl/icap_pkg.sv
rtl/icap_reader.sv
rtl/icap_expander.sv
rtl/icap_port.sv
rtl/icap_crc.sv
rtl/icap_writer.sv
rtl/icap_engine.sv
