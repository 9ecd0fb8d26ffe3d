"""What goes in and out of the endpoints of accounts; `fields` is what all apps build theirs from."""
