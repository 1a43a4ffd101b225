"""Register maps: one SystemRDL source, read once, written as RTL, Python, C and documentation."""
