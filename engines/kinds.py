"""Name the kinds of systems, by the engines that they combine."""

#: A recognizer with a language model, the same with a corrector between them, one audio model, and a recognizer alone.
CASCADE, CORRECTED, END_TO_END, RECOGNIZER = "cascade", "cascade with correction", "end to end", "recognizer"
#: What processes no audio.
CONTROL = "control"
#: A person who took the test.
PERSON = "person"
KINDS = (CASCADE, CORRECTED, END_TO_END, RECOGNIZER, CONTROL, PERSON)
#: Key of the description of an imported system with the kind that the user declared.
DECLARED = "declared_kind"
