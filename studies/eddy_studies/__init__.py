"""Published figures computed again, policies compared in virtual time, and policies to compare with."""
