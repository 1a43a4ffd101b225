"""The dashboard: pages that people open in a browser."""
