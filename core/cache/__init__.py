"""Keep what a run computed: rows of the response cache, their stages, and the clip folder."""
