"""Score answers of systems: a file or a folder per metric.

Functions to call on texts: `wer.wer`, `wer.cer`, `similarity.similarity`, `semantic.semantic_distance`,
`word_classes.rare_wer`, `word_classes.entity_wer`, `choice.vote`, `reading.parse_letter`, `wer.repetition`,
`meteor.meteor`, `free_answers.judge`, `wer_audiobench.wer_audiobench` and `normalizer.normalize`. Some are modules of
Hugging Face's `evaluate` too (`evaluate.path`). Tasks of lm-eval name `score` of a file, and its filters.
"""
