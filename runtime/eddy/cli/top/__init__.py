"""`eddy top`: the board at a glance, in a terminal."""
