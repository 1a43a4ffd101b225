-f ../eddy_pkg/eddy_pkg.f
rtl/slot_ports.svh
