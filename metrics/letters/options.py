"""Name the letters of a multiple-choice question.

This file imports nothing, so that rooms that read results have the same letters without the parser.
"""

#: The letters that an option can have, in order.
ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
#: The letters of the level Apply: four options, and (E) "None of the above".
LETTERS = ALPHABET[:5]
#: The text of option (E), and the item of a doc that has it in another language.
NONE_OF_THE_ABOVE, NONE_OPTION = "None of the above", "none_option"
#: The letter of an answer from which no letter can be read.
UNPARSED = "?"
