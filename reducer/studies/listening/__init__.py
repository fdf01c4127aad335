"""Compare how systems answer with their audio and without: did they listen?"""
