"""Wiring and doors: the only place that reads the environment, the clock or a socket."""
