"""METEOR over the shipped table of WordNet, against NLTK's METEOR over the complete WordNet 3.0."""

import gzip
import math
import random
import re
import shutil
import subprocess
import sys

import pytest

from speechiq.core.errors import SpeechIQError
from speechiq.core.response import CarryingText, Response
from speechiq.metrics.rules import meteor as wordnet
from speechiq.metrics.rules.meteor import meteor, score, split_words
from speechiq.tools.make_wordnet import make
from tests.debian import fetch_package

PACKAGE = ("wordnet-base", "1:3.0-37", "61060d960f9ada8fa120872312eccd3ecebfbab8c4579e4f5a74e1cf67620752")
#: Scores of NLTK 3.10.4 over the complete WordNet 3.0.
KNOWN = [
    ("A dog barks in the yard.", "A dog is barking in a yard.", 0.7198748043818466),
    ("A man purchases a big house.", "A man buys a large home.", 0.4508928571428571),
    ("The car stops.", "The automobile halts.", 0.6388888888888888),
    ("Children laugh and shout.", "A child is laughing; people yell.", 0.48218029350104813),
    ("Rain falls on a roof.", "Birds sing.", 0.08771929824561403),
]


@pytest.fixture(scope="module")
def debian_wordnet():
    return fetch_package(*PACKAGE) / "usr/share"


@pytest.fixture(scope="module")
def full(debian_wordnet, tmp_path_factory):
    """Return NLTK's own reader of the complete WordNet 3.0.

    The reader wants two files that Debian leaves out: `lexnames`, whose content is in its manual page, and
    `index.sense`, which is not opened by what METEOR calls.
    """
    from nltk.corpus import WordNetCorpusReader

    root = tmp_path_factory.mktemp("nltk_data")
    folder = root / "corpora" / "wordnet"
    shutil.copytree(debian_wordnet / "wordnet", folder)
    manual = gzip.decompress((debian_wordnet / "man/man5/lexnames.5WN.gz").read_bytes()).decode()
    names = re.findall(r"^(\d\d)\t((?:adj|adv|noun|verb)\.\w+)", manual, re.MULTILINE)
    parts = {"noun": 1, "verb": 2, "adj": 3, "adv": 4}
    assert len(names) == 45
    lines = [f"{number}\t{name}\t{parts[name.partition('.')[0]]}\n" for number, name in names]
    folder.joinpath("lexnames").write_text("".join(lines))
    folder.joinpath("index.sense").touch()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("nltk.data.path", [str(root)])
        with pytest.warns(UserWarning, match="multilingual"):
            yield WordNetCorpusReader(str(folder), None)


def names(synsets) -> set[str]:
    """Return the names that METEOR can match: one word, in lower case."""
    found = {lemma.name() for synset in synsets for lemma in synset.lemmas()}
    return {name for name in found if "_" not in name and name == name.lower()}


def write_pairs(reader, count: int) -> list[tuple[str, str]]:
    """Return example sentences of WordNet, and each with words inflected, replaced by synonyms, dropped and moved."""
    draw = random.Random(14)
    texts = {text for synset in reader.all_synsets("v") for text in synset.examples() if len(text.split()) > 4}
    pairs = []
    for reference in draw.sample(sorted(texts), count):
        words = []
        for word in reference.split():
            others = sorted(names(reader.synsets(word))) or [word]
            words += draw.choice([[word], [word], [draw.choice(others)], [word + "s"], []])
        middle = draw.randrange(len(words) + 1)
        pairs.append((reference, " ".join(words[middle:] + words[:middle])))
    return pairs


@pytest.mark.slow
@pytest.mark.network
def test_scores_are_those_of_nltk_with_the_complete_wordnet(full):
    from nltk.translate.meteor_score import single_meteor_score

    pairs = write_pairs(full, 60)
    theirs = [single_meteor_score(*map(split_words, pair), wordnet=full) for pair in pairs]
    assert [meteor(*pair) for pair in pairs] == theirs
    without = [single_meteor_score(*map(split_words, pair), wordnet=wordnet.WordNet({}, {})) for pair in pairs]
    assert sum(one != other for one, other in zip(theirs, without, strict=True)) > 15  # synonyms decide many pairs
    assert 0.3 < sum(theirs) / len(theirs) < 0.8
    assert meteor(*zip(*pairs, strict=True)) == pytest.approx(sum(theirs) / 60)


@pytest.mark.slow
@pytest.mark.network
def test_each_word_has_the_synonyms_of_the_complete_wordnet(full):
    draw = random.Random(3)
    words = draw.sample(sorted(word for word in full.all_lemma_names() if "_" not in word), 2500)
    for part, count in {"n": 200, "v": 200, "a": 200, "r": 2}.items():
        words += draw.sample(sorted(full._exception_map[part]), count)
    words += [word + ending for word, ending in zip(words[:1000], ["s", "es", "ed", "ing"] * 250, strict=True)]
    table = wordnet.load_wordnet()
    for word in words:
        if "_" not in word:
            assert names(table.synsets(word)) == names(full.synsets(word)), word


@pytest.mark.slow
@pytest.mark.network
def test_the_table_and_its_license_can_be_made_again(debian_wordnet):
    assert all(file.read_bytes() == content for file, content in make(debian_wordnet / "wordnet").items())


def test_the_script_refuses_files_of_another_wordnet(tmp_path):
    with pytest.raises(SpeechIQError, match=r"data\.noun': no such file; name the folder usr/share/wordnet"):
        make(tmp_path)
    tmp_path.joinpath("data.noun").write_text("another\n")
    with pytest.raises(SpeechIQError, match=r"data\.noun': not that of wordnet-base 1:3\.0-37"):
        make(tmp_path)


@pytest.mark.parametrize(("reference", "hypothesis", "expected"), KNOWN)
def test_known_scores(reference, hypothesis, expected):
    assert meteor(reference, hypothesis) == pytest.approx(expected, abs=1e-12)


def test_the_best_reference_counts():
    from nltk.translate.meteor_score import meteor_score

    references, text = [reference for reference, *_ in KNOWN], "People yell while a child laughs."
    assert meteor(references, text) == max(meteor(one, text) for one in references) > 0
    tokens = list(map(split_words, references))
    assert meteor(references, text) == meteor_score(tokens, split_words(text), wordnet=wordnet.load_wordnet())
    assert meteor([references, "Rain"], [text, "Rain"]) == (meteor(references, text) + meteor("Rain", "Rain")) / 2


def test_words_are_stemmed_before_synonyms_are_searched():
    assert meteor("a car", "a automobile") == meteor("a car", "a banana")
    assert meteor("a dog", "a hound") > meteor("a dog", "a banana")


def test_one_sentence_is_split_as_nltk_does_and_several_one_by_one():
    from nltk.tokenize import NLTKWordTokenizer

    text = 'It doesn\'t bark (much), "they" wrote; 3.5 s.'
    assert split_words(text) == NLTKWordTokenizer().tokenize(text)
    assert split_words("Rain falls. Birds sing.") == ["Rain", "falls", ".", "Birds", "sing", "."]


def test_empty_texts():
    assert meteor("Rain falls.", "") == 0.0
    for references in ("", [], ["", " "]):
        assert math.isnan(meteor(references, "Rain falls."))
    assert math.isnan(meteor([], [])) and math.isnan(meteor(["", "Rain"], ["Rain", "Rain"]))
    assert meteor(["", "Rain falls."], "Rain falls.") > 0.9


def test_lists_of_different_lengths_are_refused():
    with pytest.raises(SpeechIQError, match=r"^references: 2, hypotheses: 1 texts; give the references of each"):
        meteor(["Rain", "Wind"], ["Rain"])


def test_a_caption_is_scored_with_its_coverage():
    doc = {"answer": "Rain falls.", "accepted": ["A dog barks."]}
    row = score(doc, [CarryingText(Response("A dog barks.", coverage=0.5))])
    assert row == {"meteor": meteor("A dog barks.", "A dog barks."), "empty_answer": 0.0, "audio_coverage": 0.5}
    assert score({"answer": "Rain falls."}, ["A dog barks."])["meteor"] < 0.5


@pytest.mark.slow
def test_the_table_is_read_only_when_it_is_needed():
    code = (
        "import sys, speechiq.metrics.rules.meteor as m;"
        "assert 'nltk' not in sys.modules and not m.load_wordnet.cache_info().currsize;"
        "m.meteor('a', 'a'); assert m.load_wordnet.cache_info().currsize"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
