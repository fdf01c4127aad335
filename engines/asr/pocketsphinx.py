"""Run PocketSphinx; this file is the pattern for a recognizer outside transformers."""

import multiprocessing
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from importlib.metadata import version
from importlib.util import find_spec
from typing import Any

import numpy as np

from speechiq.core.batches import OnResult, count_cores, drop, run_concurrently
from speechiq.core.clip import Clip
from speechiq.core.errors import SpeechIQError
from speechiq.core.response import Response
from speechiq.core.suggestions import missing
from speechiq.core.usage import measured, usage
from speechiq.engines._shared.chunking import SPAN_S, read_chunks
from speechiq.engines.base import ASREngine, Setup
from speechiq.engines.languages import ENGLISH
from speechiq.engines.options import Options

BUNDLED = "en-us"
OTHER = "give a recognizer that knows the language, such as openai/whisper-large-v3"


class PocketSphinxASR(ASREngine):
    """Run the American English model that the package `pocketsphinx` ships, on the CPU, one clip per process."""

    def __init__(self, model: str, options: Options, setup: Setup) -> None:
        if model not in ("", BUNDLED):
            raise SpeechIQError(
                f"pocketsphinx:{model}", "only the bundled model is known", f"write pocketsphinx:{BUNDLED}"
            )
        if setup.language not in (None, ENGLISH):
            raise SpeechIQError(f"pocketsphinx:{model}", f"knows English, and the clips are in {setup.language}", OTHER)
        if find_spec("pocketsphinx") is None:
            raise SpeechIQError(f"pocketsphinx:{model}", missing("pocketsphinx"))

    def transcribe(self, clips: Sequence[Clip], on_result: OnResult = drop) -> list[Response]:
        """Transcribe each clip; see `ASREngine.transcribe`."""
        usage["asr_clips"] += len(clips)
        with (
            ProcessPoolExecutor(mp_context=multiprocessing.get_context("spawn")) as pool,
            measured("transcribing", sum(clip.duration for clip in clips)),
        ):
            return run_concurrently(
                clips,
                lambda clip: Response(pool.submit(decode_clip, clip).result(), coverage=1.0),
                workers=count_cores(),
                label=("pocketsphinx transcribing", "clip"),
                on_result=on_result,
            )

    def identity(self) -> dict[str, Any]:
        """Return the description; see `Engine.identity`."""
        return {"stage": "asr", **self.describe()}

    def describe(self) -> dict[str, Any]:
        """Return the model and the version of the package; see `Engine.describe`."""
        return {"model": BUNDLED, "engine": f"pocketsphinx {version('pocketsphinx')}"}


def decode_clip(clip: Clip) -> str:
    """Transcribe a clip by a new decoder per span, because a used decoder has adapted to earlier clips."""
    return " ".join(filter(None, map(_decode_span, read_chunks(clip, SPAN_S))))


def _decode_span(samples: np.ndarray) -> str:
    from pocketsphinx import Decoder

    pcm = (np.clip(samples, -1, 1) * np.iinfo(np.int16).max).astype(np.int16)
    decoder = Decoder(loglevel="FATAL")
    decoder.start_utt()
    decoder.process_raw(pcm.tobytes(), no_search=False, full_utt=True)
    decoder.end_utt()
    return decoder.hyp().hypstr if decoder.hyp() else ""
