-f ../zynqmp/zynqmp.f
rtl/zcu104.sv
