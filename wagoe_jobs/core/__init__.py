"""What a job is and what becomes of it: pure values and functions; no clock, random, I/O or thread."""
