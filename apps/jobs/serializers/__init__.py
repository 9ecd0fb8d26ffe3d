"""What goes in and out of the endpoints of jobs; `fields` is what all apps build theirs from."""
