"""Work on judged answers of stored runs: judge them again, and let persons check the judge."""
