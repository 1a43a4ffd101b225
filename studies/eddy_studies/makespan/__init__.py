"""[002]: makespan placement."""
