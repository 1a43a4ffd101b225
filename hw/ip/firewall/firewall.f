-f ../eddy_pkg/eddy_pkg.f
rtl/firewall_pkg.sv
rtl/firewall_ctrl_access.sv
rtl/firewall_ctrl.sv
rtl/firewall_lookup.sv
rtl/firewall_windows.sv
rtl/firewall_admit.sv
rtl/firewall_write.sv
rtl/firewall_read.sv
rtl/firewall_mem.sv
rtl/firewall_fault.sv
rtl/firewall.sv
