"""Score answers of systems: a file per metric.

Functions to call on texts: `wer.wer`, `wer.cer`, `similarity.similarity`, `semantic_distance.semantic_distance`,
`word_classes.rare_wer`, `entities.entity_wer`, `choice.vote`, `letters.parse_letter`, `repetition.repetition`,
`meteor.meteor`, `wer_audiobench.wer_audiobench` and `normalizer.normalize`. Those of the levels and METEOR are modules
of Hugging Face's `evaluate` (`evaluate.path`). Tasks of lm-eval name `score` of a file, and its filters and
aggregations.
"""
