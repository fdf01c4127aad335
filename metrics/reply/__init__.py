"""Score spoken replies: their transcript, language and quality."""
