rtl/nn_lanes.sv
