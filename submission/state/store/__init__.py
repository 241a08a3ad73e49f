"""The law's one cellar: where events are kept, sealed into a chain, and brought out again."""
