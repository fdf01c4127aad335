"""`--model hf-audio`: lm-eval's requests in, a speech system's answers out."""

from __future__ import annotations

import logging
import tempfile
from collections import defaultdict
from collections.abc import Sequence
from itertools import cycle
from pathlib import Path
from typing import Any

import accelerate.utils
import torch
from accelerate import PartialState
from lm_eval.api.instance import Instance
from lm_eval.api.model import LM
from lm_eval.loggers.evaluation_tracker import EvaluationTracker

from speechiq.core.errors import SpeechIQError
from speechiq.harness_patch.systems.build import build_system
from speechiq.harness_patch.systems.spelling import REFERENCE
from speechiq.harness_patch.systems.system import Question
from speechiq.siq_tasks.audio import AudioClip

log = logging.getLogger(__name__)


class HFAudio(LM):
    """A speech system as a model type of lm-eval.

    Nothing is loaded before the first request; what can be checked without weights is checked at once.

    Args:
        pretrained: the system's spelling: `ASR+LLM`, or `demo`; by default the paper's reference cascade.
        device: as lm-eval passes it; a device that this machine lacks means the CPU.
        batch_size: items a batch, or `auto`.
        max_batch_size: not used; lm-eval passes it.
        **options: stage options, such as `asr_num_beams=5` or `llm_answer=likelihood`.

    Raises:
        SpeechIQError: the system cannot be built, or the results could not be written.
    """

    MULTIMODAL = True

    def __init__(
        self,
        pretrained: str = REFERENCE,
        device=None,
        batch_size: int | str = "auto",
        max_batch_size=None,
        **options,
    ) -> None:
        super().__init__()
        check_output_path(getattr(EvaluationTracker, "last_output_path", None))
        if pretrained == REFERENCE:
            log.warning("hf-audio runs the paper's reference cascade, %s", REFERENCE)
        self.pretrained = pretrained
        self.state = PartialState(cpu=not torch.accelerator.is_available() or str(device) == "cpu")
        self._rank, self._world_size = self.state.process_index, self.state.num_processes
        self._device = self.state.device
        size = batch_size if batch_size == "auto" else int(batch_size)
        self.system = build_system(
            str(pretrained), options, device=self._device, batch_size=size, seed=torch.initial_seed()
        )

    def generate_until(self, requests: list[Instance]) -> list[str]:
        """Transcripts and answers, aligned with `requests`; a request that occurs n times gets n answers."""
        asked = list({id(request): request for request in requests}.values())
        turns = {key: cycle(answers) for key, answers in self._answer(asked).items()}
        return [_cut(next(turns[id(request)]), request.args[1].get("until")) for request in requests]

    def _answer(self, requests: list[Instance]) -> dict[int, list[str]]:
        clips = {id(request): _clip(request) for request in requests}
        to_transcribe = [key for key, clip in clips.items() if clip.get("purpose") == "transcribe"]
        heard = self.system.transcribe([clips[key] for key in to_transcribe])
        answers = {key: [transcript.text] for key, transcript in zip(to_transcribe, heard, strict=True)}
        by_count: dict[int, list[Instance]] = defaultdict(list)
        for request in requests:
            if id(request) not in answers:
                by_count[request.repeats or 1].append(request)
        for n, group in by_count.items():
            questions = [Question(clips[id(request)], *request.args[:2]) for request in group]
            answers.update(zip(map(id, group), self.system.answer(questions, n), strict=True))
        return answers

    def loglikelihood(self, requests: list[Instance]) -> list[tuple[float, bool]]:
        """Log-probability of each continuation after its context and clip."""
        contexts, continuations = zip(*(request.args[:2] for request in requests), strict=True)
        return self.system.loglikelihood([_clip(request) for request in requests], contexts, continuations)

    def loglikelihood_rolling(self, requests: list[Instance]) -> list[float]:
        raise SpeechIQError(
            "hf-audio: the rolling log-likelihood of a text is not defined for a speech system; "
            "run such tasks with --model hf"
        )

    def get_model_info(self) -> dict[str, Any]:
        """What ran, for the `config` of the results file."""
        return {"siq": {"pretrained": self.pretrained, "system": self.system.describe()}}

    def all_gather(self, tensor: torch.Tensor) -> torch.Tensor:
        return accelerate.utils.gather(tensor)

    def gather_object(self, obj, dst: int = 0):
        gathered = accelerate.utils.gather_object([obj])
        return gathered if self.rank == dst else None

    def barrier(self) -> None:
        self.state.wait_for_everyone()


def _clip(request: Instance) -> AudioClip:
    (audio,) = request.args[2]["audio"]
    return AudioClip(audio, reference=request.doc.get("text"))


def _cut(text: str, until: Sequence[str] | None) -> str:
    for stop in until or ():
        text = text.partition(stop)[0]
    return text


def check_output_path(path: str | None) -> None:
    """Refuse an output path that cannot be written to; lm-eval would only say so after the run.

    Raises:
        SpeechIQError: naming the folder.
    """
    if path is None:
        return
    folder = Path(path).parent if Path(path).suffix == ".json" else Path(path)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise SpeechIQError(
            f"--output_path {path}: cannot be written to ({error.strerror}); choose another "
            f"folder or mend its permissions"
        ) from error
