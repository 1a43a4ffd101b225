rtl/slot_ports.svh
