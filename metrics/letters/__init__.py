"""Read the letter that an answer to a multiple-choice question gives."""
