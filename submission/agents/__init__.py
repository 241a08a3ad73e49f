"""Workers and judges: they propose; there is no way from here to a decision, a gate or the store."""
