"""Area of the hardware: what is synthesized, how, and how it is told."""
