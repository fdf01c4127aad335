"""Make data sets: tasks of recordings, spoken texts, questions."""
