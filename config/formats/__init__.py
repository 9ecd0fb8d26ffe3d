"""How times are written where no page says otherwise."""
