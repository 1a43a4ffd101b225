-f ../zynqmp/zynqmp.f
rtl/kv260.sv
