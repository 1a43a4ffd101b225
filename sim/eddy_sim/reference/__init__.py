"""Independent numpy references of the packaged applications, and the real data they run on."""
