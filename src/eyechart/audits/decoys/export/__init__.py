"""Write repaired options in the forms of other tools, each with a card that says what was done to the data."""
