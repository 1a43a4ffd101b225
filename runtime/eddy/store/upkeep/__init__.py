"""The whole folder: opened, examined, copied and restored."""
