"""Test the transcripts of recognizers in front of assistants: spoken queries, and what an assistant makes of them."""
