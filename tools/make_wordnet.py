"""Make the table of synonyms that METEOR reads, from the files of WordNet 3.0 in Debian's package `wordnet-base`.

    apt-get download wordnet-base=1:3.0-37
    dpkg-deb -x wordnet-base_1%3a3.0-37_all.deb FOLDER
    python -m speechiq.tools.make_wordnet FOLDER/usr/share/wordnet

Users never need this, and it is not installed: the table and Princeton's license are in `metrics/`. The same files give
the same bytes.
"""

from __future__ import annotations

import argparse
import gzip
import json
from pathlib import Path

from speechiq.core.errors import SpeechIQError, print_in_one_line
from speechiq.core.files.plain import hash_file, write_whole
from speechiq.metrics.rules.meteor import LICENSE, TABLE

#: Part of speech -> end of the names of its files, and sha256 of its data file in WordNet 3.0 as Debian packages it.
PARTS = {
    "n": ("noun", "fea17d2f9656611334eac790e5d69e47645fa180c4aa481fb4cd9b3520754ca2"),
    "v": ("verb", "adcf43e35b581e8036d8b5a52d63d9cd3d3b4870b2720d3c03c799df44777bc2"),
    "a": ("adj", "c89120dfc1f046ddff4a631bf9b7e9fa1a36b5e86565a23bf82dbe14f30b88a7"),
    "r": ("adv", "444a63bf3955080ab7524f5079cfc07ff9bc682cb98bdb1db73b0fb9829f1139"),
}


def read_synsets(file: Path) -> tuple[list[list[str]], str]:
    """Return the words of each synset of a data file, and the license at its beginning.

    Words of several parts (`ice_cream`) are left out, because NLTK's METEOR leaves them out, and so are synsets without
    a word in lower case: METEOR compares texts in lower case with words as WordNet writes them. Adjectives lose the
    mark of their position (`(p)`), as in NLTK.
    """
    synsets, license_lines = set(), []
    for line in file.read_text(encoding="utf-8").splitlines():
        if line.startswith("  "):
            license_lines.append(line.split(" ", 3)[3].rstrip())
            continue
        _, _, _, count, *fields = line.split(" ")
        words = {word.partition("(")[0] for word in fields[: 2 * int(count, 16) : 2] if "_" not in word}
        if any(word == word.lower() for word in words):
            synsets.add(tuple(sorted(words)))
    return list(map(list, sorted(synsets))), "\n".join(license_lines) + "\n"


def make(folder: Path) -> dict[Path, bytes]:
    """Return the content of the table and of the license, after checking that the files are those of WordNet 3.0."""
    table: dict[str, dict] = {"synsets": {}, "exceptions": {}}
    for part, (name, sha256) in PARTS.items():
        file = folder / f"data.{name}"
        if not file.is_file():
            raise SpeechIQError(file, "no such file", "name the folder usr/share/wordnet of Debian's wordnet-base")
        if hash_file(file) != sha256:
            raise SpeechIQError(file, "not that of wordnet-base 1:3.0-37 (another sha256)", "get that version")
        table["synsets"][part], license_text = read_synsets(file)
        irregular = map(str.split, folder.joinpath(f"{name}.exc").read_text(encoding="utf-8").splitlines())
        table["exceptions"][part] = {form: bases for form, *bases in irregular}
    content = json.dumps(table, separators=(",", ":"), ensure_ascii=False).encode()
    return {TABLE: gzip.compress(content, mtime=0), LICENSE: license_text.encode()}


def main() -> None:
    """Run the command line."""
    print_in_one_line()
    parser = argparse.ArgumentParser(description="Make the table of synonyms that METEOR reads.")
    parser.add_argument("folder", type=Path, help="the folder with WordNet's data and exception files")
    for file, content in make(parser.parse_args().folder).items():
        write_whole(file, content, "check the folder")
        print(f"{file}: {len(content):,} bytes")


if __name__ == "__main__":
    main()
