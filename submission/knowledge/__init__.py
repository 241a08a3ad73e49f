"""World packs as data, and their loader; there is no rule of the game here."""
