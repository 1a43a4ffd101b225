"""[004] in virtual time: sequences of events against a board of slots, under any dispatch policy."""
