"""How a pack is read: files, lines, shapes, and everything that can be wrong with them."""
