"""Score answers of systems: a file per metric.

Functions to call on texts: `wer.wer`, `wer.cer`, `similarity.similarity`, `choice.vote`, `letters.parse_letter`,
`repetition.repetition`,
`meteor.meteor` and `normalizer.normalize`. The same metrics are modules of Hugging Face's `evaluate`
(`evaluate.path`). Tasks of lm-eval name `score` of a level's file, and its filters and aggregations.
"""
