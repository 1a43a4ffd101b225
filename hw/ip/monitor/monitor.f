-f ../eddy_pkg/eddy_pkg.f
rtl/monitor_pkg.sv
rtl/monitor_rows.sv
rtl/monitor_recent.sv
rtl/monitor.sv
