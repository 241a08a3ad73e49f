"""The law. Pure: no clock, no chance, no I/O. `decide` says what a command causes, `evolve` what an event
makes of a run, and everything else here is a part of one of the two or a view of what they made."""
