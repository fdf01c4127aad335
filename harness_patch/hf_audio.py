"""`--model hf-audio`: lm-eval's requests in, a speech system's answers out."""

from __future__ import annotations

import logging
import tempfile
from collections import defaultdict
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
from speechiq.core.response import Response
from speechiq.harness_patch.systems.build import build_system
from speechiq.harness_patch.systems.spelling import REFERENCE
from speechiq.harness_patch.systems.system import Prompt, Question
from speechiq.siq_tasks.audio import AudioClip, as_clip

log = logging.getLogger(__name__)


class HFAudio(LM):
    """A speech system as a model type of lm-eval.

    Nothing is loaded before the first request; what can be checked without weights is checked at once.

    Args:
        pretrained: the system's spelling: `ASR+LLM`, or `demo`; without it the paper's reference cascade.
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
        pretrained: str | None = None,
        device: str | None = None,
        batch_size: int | str = "auto",
        max_batch_size: int | None = None,
        **options: Any,
    ) -> None:
        super().__init__()
        check_output_path(getattr(EvaluationTracker, "last_output_path", None))
        if pretrained is None:
            log.warning("no pretrained=... given: hf-audio runs the paper's reference cascade, %s", REFERENCE)
        self.pretrained = str(pretrained or REFERENCE)
        self.state = PartialState(cpu=not torch.accelerator.is_available() or str(device) == "cpu")
        self._rank, self._world_size = self.state.process_index, self.state.num_processes
        self._device = _choose_device(device, self.state)
        self.system = build_system(
            self.pretrained,
            options,
            device=self._device,
            batch_size=_read_batch_size(batch_size),
            seed=torch.initial_seed(),
        )

    def generate_until(self, requests: list[Instance]) -> list[str]:
        """Transcripts and answers, aligned with `requests`; a request that occurs n times gets n answers."""
        asked = list({id(request): request for request in requests}.values())
        with self.system.at_work():
            turns = {key: cycle(answers) for key, answers in self._answer(asked).items()}
        return [next(turns[id(request)]).cut(request.args[1].get("until")) for request in requests]

    def _answer(self, requests: list[Instance]) -> dict[int, list[Response]]:
        prompts = {id(request): _prompt(request) for request in requests}
        to_transcribe = [key for key, prompt in prompts.items() if _wants_transcript(prompt)]
        heard = self.system.transcribe([prompts[key].clips[0] for key in to_transcribe])
        answers = {key: [transcript] for key, transcript in zip(to_transcribe, heard, strict=True)}
        by_count: dict[int, list[Instance]] = defaultdict(list)
        for request in requests:
            if id(request) not in answers:
                by_count[request.repeats or 1].append(request)
        for n, group in by_count.items():
            questions = [Question(prompts[id(request)], request.args[1]) for request in group]
            answers.update(zip(map(id, group), self.system.answer(questions, n), strict=True))
        return answers

    def loglikelihood(self, requests: list[Instance]) -> list[tuple[float, bool]]:
        """Log-probability of each continuation after its context and clip."""
        with self.system.at_work():
            return self.system.loglikelihood(list(map(_prompt, requests)), [request.args[1] for request in requests])

    def loglikelihood_rolling(self, requests: list[Instance]) -> list[float]:
        raise SpeechIQError(
            "hf-audio: the rolling log-likelihood of a text is not defined for a speech system; "
            "run such tasks with --model hf"
        )

    def apply_chat_template(self, chat_history: list[dict[str, str]], add_generation_prompt: bool = True) -> str:
        """The messages as plain text: each stage puts its prompts into its own model's template."""
        return "\n\n".join(message["content"] for message in chat_history)

    @property
    def tokenizer_name(self) -> str:
        return self.pretrained

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


def _choose_device(device: str | None, state: PartialState) -> torch.device:
    """The device asked for, unless this machine lacks it or every process has its own."""
    alone = state.num_processes == 1 and torch.accelerator.is_available()
    return torch.device(device) if alone and device else state.device


def _read_batch_size(batch_size: int | str) -> int | str:
    """A positive whole number, or `auto` (lm-eval's `auto:N` means the same here)."""
    if str(batch_size).partition(":")[0] == "auto":
        return "auto"
    if not str(batch_size).isdecimal() or int(batch_size) < 1:
        raise SpeechIQError(f"--batch_size {batch_size}: neither a whole number above 0 nor auto; give one of them")
    return int(batch_size)


def _clips(request: Instance) -> list[AudioClip]:
    """The request's clips, none for a task of text alone, in whatever form the task gives them."""
    audio = next((told["audio"] for told in request.args[2:] if told.get("audio") is not None), [])
    told = {"id": request.doc.get("id"), "reference": request.doc.get("text")}
    return [AudioClip(as_clip(one), **told) for one in (audio if isinstance(audio, list | tuple) else [audio])]


def _wants_transcript(prompt: Prompt) -> bool:
    return any(clip.get("purpose") == "transcribe" for clip in prompt.clips)


def _prompt(request: Instance) -> Prompt:
    return Prompt.about(request.args[0], _clips(request))


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
