"""What the pages read. Each starts from a seat or walks job → queue → project → organization → membership."""
