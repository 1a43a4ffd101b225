PS8.sv
BUFG_PS.sv
ICAPE3.sv
slot_clock.sv
