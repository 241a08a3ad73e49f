"""How the simulated workforce reads and writes: language, topics, templates and directions. Pure and deterministic."""
