"""What each lever against the cost of reconfiguration is worth, alone and together."""
