ps8_ports.svh
slot_clock_ports.svh
PS8.sv
BUFG_PS.sv
ICAPE3.sv
slot_clock.sv
port_clock.sv
