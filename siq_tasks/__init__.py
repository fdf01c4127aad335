"""What is asked: tasks, prompts, clips."""
