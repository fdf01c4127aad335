"""Define the tasks of the suite: data sets, prompts, questions and loaders."""
