import io

import numpy as np
import pytest
import soundfile

from speechiq.core.errors import SpeechIQError
from speechiq.tools.make_clips import RATE, VOICES, Sources, encode, make_all
from tests.siq_tasks.test_bundled import CLIPS

pytestmark = pytest.mark.slow

TONE = 0.1 * np.sin(2 * np.pi * 440 * np.arange(2 * RATE) / RATE)


def test_every_voice_of_the_set_is_one_that_the_script_can_call():
    assert {clip["voice"] for clip in CLIPS} - {None} == set(VOICES)


def test_two_streams_differ_in_their_serial_only():
    first, second = encode(TONE, serial=1), encode(TONE, serial=2)
    assert first != second
    heard = [soundfile.read(io.BytesIO(file)) for file in (first, second)]
    assert heard[0][1] == RATE
    np.testing.assert_array_equal(heard[0][0], heard[1][0])


@pytest.mark.parametrize(
    ("only", "sources", "message"),
    [
        (["demo/nobody"], Sources(), "no clip 'demo/nobody'; known are demo/earnings-1"),
        (["demo/kennedy"], Sources(), r"kennedy\.flac is missing: .*--human"),
        (["demo/earnings-1"], Sources(piper="no-such-piper"), "install pip package piper-tts"),
        (["demo/earnings-1"], Sources(piper="python3"), "Piper voice .* is needed: .*--voice"),
    ],
)
def test_what_is_missing_is_named_with_what_brings_it(tmp_path, only, sources, message):
    with pytest.raises(SpeechIQError, match=message):
        make_all(tmp_path / "out", only, sources)
    assert not tmp_path.joinpath("out").exists()
