"""The clusters of clips: where they come from, what records them, and every rule that cannot be."""

import re

import pytest

from speechiq.core.errors import SpeechIQError
from speechiq.siq_tasks.loaders.clips import load, prepare
from speechiq.siq_tasks.loaders.docs import digest_content
from tests.siq_tasks.conftest import encode

IDS = ("443_1", "443_2", "447_1")


def prepare_with(folder, ids=IDS, speakers=("ann", "ann", "bob"), **metadata):
    """Return the test made of a table with clips of some ids and speakers."""
    lines = [f"{i}.wav,one two {i},{key},{speaker}" for i, (key, speaker) in enumerate(zip(ids, speakers, strict=True))]
    for i in range(len(ids)):
        folder.joinpath(f"{i}.wav").write_bytes(encode(1.0 + i / 10))
    folder.joinpath("m.csv").write_text("\n".join(["audio,text,id,speaker", *lines]) + "\n")
    return prepare(**describe(folder), **metadata)


def describe(folder):
    return {"dataset": "own", "dataset_path": str(folder / "m.csv"), "subset": "all", "id_column": "id"}


@pytest.mark.parametrize(
    ("metadata", "clusters"),
    [
        ({"cluster_column": "speaker"}, ["own/ann", "own/ann", "own/bob"]),
        ({"cluster_pattern": r"^(\d+)_"}, ["own/443", "own/443", "own/447"]),
        ({"cluster_column": "none", "cluster_pattern": r"_(\d)"}, ["own/1", "own/2", "own/1"]),
    ],
)
def test_a_clip_has_the_cluster_of_its_column_or_id(own_cache, tmp_path, metadata, clusters):
    test = prepare_with(tmp_path, **metadata)
    assert [clip["cluster"] for clip in sorted(test.clips, key=lambda clip: clip["id"])] == clusters
    docs = load(level="remember", normalizer="english", **describe(tmp_path), **metadata).docs
    assert sorted(docs["cluster"]) == sorted(clusters)


def test_without_a_rule_no_doc_and_no_digest_has_clusters(own_cache, tmp_path):
    plain = prepare_with(tmp_path, cluster_column=None, cluster_pattern="none")
    assert not any("cluster" in clip for clip in plain.clips)
    about = describe(tmp_path) | {"level": "remember", "normalizer": "english"}
    docs, clustered = load(**about).docs, load(**about, cluster_column="speaker").docs
    assert "cluster" not in docs.column_names
    assert digest_content(docs) != digest_content(clustered)
    assert digest_content(docs) == digest_content(clustered.remove_columns("cluster"))


@pytest.mark.parametrize(
    ("metadata", "message"),
    [
        ({"cluster_column": "debate"}, "m.csv: no column 'debate'; it has audio, text, id, speaker"),
        ({"cluster_column": 5}, "cluster_column=5: not a text; give one"),
        ({"cluster_column": "speaker", "speakers": ("ann", "", "bob")}, "m.csv row 1: speaker is '', not a text"),
        (
            {"cluster_column": "speaker", "speakers": ("ann",) * 3},
            "metadata.cluster_column: speaker: all 3 clips are in",
        ),
        ({"cluster_pattern": r"^(\d)"}, "all 3 clips are in one cluster, 'own/4', so that no score has an interval"),
        (
            {"cluster_pattern": r"^\d+"},
            r"metadata.cluster_pattern: ^\d+: has 0 groups; write a regular expression with",
        ),
        ({"cluster_pattern": r"^(\d+)_(\d+)"}, "has 2 groups"),
        ({"cluster_pattern": "(["}, "metadata.cluster_pattern: ([: "),
        ({"cluster_pattern": "(x)"}, "m.csv row 0: metadata.cluster_pattern: (x) finds no cluster in the id '443_1'"),
        ({"cluster_pattern": "^(443)"}, "finds no cluster in the id '447_1'"),
        (
            {"cluster_pattern": "(a|aa)+$", "ids": ("a" * 60 + "b", "b", "c")},
            "(a|aa)+$: takes longer than 1 s on the id",
        ),
        (
            {"cluster_column": "speaker", "cluster_pattern": "(x)"},
            "metadata.cluster_column: cluster_pattern is given too",
        ),
    ],
)
def test_a_rule_that_cannot_be_is_one_line(own_cache, tmp_path, metadata, message):
    with pytest.raises(SpeechIQError, match=re.escape(message)) as caught:
        prepare_with(tmp_path, **metadata)
    assert "\n" not in str(caught.value) and not list(own_cache.glob("clips/*.json"))
