"""Speech systems: something that hears clips, and transcribes them or answers questions about them."""
