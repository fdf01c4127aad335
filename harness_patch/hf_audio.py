"""Define `--model hf-audio`: a speech system that answers the requests of lm-eval."""

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from functools import partial
from itertools import cycle
from typing import Any

import accelerate.utils
import torch
from accelerate import PartialState
from lm_eval.api.instance import Instance
from lm_eval.api.model import LM
from tqdm.contrib.logging import logging_redirect_tqdm

from speechiq.core.cache.stage_cache import end_count, limited_to
from speechiq.core.clip import Clip, NoAudio
from speechiq.core.console import say
from speechiq.core.errors import SpeechIQError
from speechiq.core.files.folders import store_folder, use_store
from speechiq.core.prompt import Scored
from speechiq.core.response import CarryingText, Response
from speechiq.core.usage import WorkDone, replies, since, snapshot, total
from speechiq.engines.base import BatchSize
from speechiq.engines.options import only_given
from speechiq.harness_patch.evaluation import SpeechModel
from speechiq.harness_patch.jobs import (
    AtMost,
    Job,
    SystemVariant,
    first_clip,
    group_questions,
    group_variants,
    in_doc_order,
    share_work,
)
from speechiq.harness_patch.systems.answering import TRANSCRIBE, Likelihood
from speechiq.harness_patch.systems.build import build_system, system_name
from speechiq.harness_patch.systems.spec import REFERENCE
from speechiq.harness_patch.systems.system import SPEAKS, SpeechSystem
from speechiq.metrics.reply_asr import find_audible, transcribe_replies

log = logging.getLogger(__name__)

#: How long processes wait for each other: practically without a limit, like lm-eval's own models.
PATIENCE = timedelta(weeks=52)


class HFAudio(SpeechModel, LM):
    """Run a speech system as a model type of lm-eval.

    No model is loaded before the first request; everything that needs no weights is checked in the constructor.

    Args:
        pretrained: System spec, such as `ASR+LLM` or `demo`; by default the paper's reference cascade.
        device: Device of the models; by default the accelerator of this machine, or its CPU.
        batch_size: Items per batch, or `auto`.
        max_batch_size: Not used; lm-eval passes it.
        store: Folder of the response cache, or `off`; by default `SIQ_STORE` or a folder in the cache folder.
        **options: Stage options, such as `asr_num_beams=5` or `llm_answer=likelihood`.
    """

    MULTIMODAL = True

    def __init__(
        self,
        pretrained: str | None = None,
        device: str | None = None,
        batch_size: int | str = "auto",
        max_batch_size: int | None = None,
        store: str | None = None,
        **options: Any,
    ) -> None:
        super().__init__()
        if pretrained is None:
            log.warning("no pretrained=... given: hf-audio runs the paper's reference cascade, %s", REFERENCE)
        self.pretrained = str(pretrained or REFERENCE)
        self.state = PartialState(cpu=not torch.accelerator.is_available() or str(device) == "cpu", timeout=PATIENCE)
        self.state.device = _choose_device(device, self.state, torch.accelerator.device_count())
        _check_spread(options, self.state.num_processes)
        self._store, self._before, self._voice = store, snapshot(), options.get(SPEAKS)
        self._done: tuple[WorkDone, ...] = ()
        self._references: dict[Clip, str] = {}
        self._build = partial(
            build_system,
            self.pretrained,
            options,
            device=self.state.device,
            batch_size=_read_batch_size(batch_size),
            seed=torch.initial_seed(),
            references=self._references,
        )
        self._systems: dict[SystemVariant, SpeechSystem] = {}
        self.system = self._system_for(SystemVariant())

    def _system_for(self, variant: SystemVariant) -> SpeechSystem:
        """Return the system of a variant; the same weights are loaded for each variant."""
        if variant not in self._systems:
            with use_store(self._store):
                self._systems[variant] = self._build(language=variant.language, prompts=variant.prompts)
        return self._systems[variant]

    @property
    def device(self) -> torch.device:
        """Return the device of the models."""
        return self.state.device

    @property
    def name(self) -> str:
        """Return the name of the system in results."""
        return system_name(self.pretrained, self._voice)

    @property
    def rank(self) -> int:
        """Return the number of this process."""
        return self.state.process_index

    @property
    def world_size(self) -> int:
        """Return the number of processes."""
        return self.state.num_processes

    @contextmanager
    def running(self) -> Iterator[None]:
        """Count the work inside the block, use this model's response cache, and log above the progress bars."""
        self._before, self._done = snapshot(), ()
        loggers = [logging.getLogger(name) for name in (None, "lm_eval", "transformers")]
        with use_store(self._store), limited_to(None), logging_redirect_tqdm(loggers):
            yield

    def refuse_words(self, option: str) -> None:
        """Refuse words of the user for the prompt of the questions, given by `option`, if it has no place for them."""
        way = self.system.answering
        if isinstance(way, Likelihood):
            raise SpeechIQError(
                option,
                f"{way.option}=likelihood uses a prompt of its own, without them",
                f"leave them out, or give {way.option}=generate",
            )

    def generate_until(self, requests: list[Instance]) -> list[str]:
        """Return transcripts and answers, aligned with `requests`; a request that occurs n times gets n answers."""
        distinct = {id(request): request for request in requests}
        for request in distinct.values():
            request.resps = AtMost(request.repeats or 1, request.resps)
        jobs = {key: Job.to_generate(request) for key, request in distinct.items()}
        for key, job in jobs.items():
            if job.question.purpose != TRANSCRIBE:
                self.system.refuse_task(str(distinct[key].task_name))
        self._check(list(jobs.values()))
        answers = self._share(list(jobs.values()), _respond)
        self._transcribe_replies(list(distinct.values()), answers)
        turns = {key: cycle(texts) for key, texts in zip(jobs, answers, strict=True)}
        return [CarryingText(next(turns[key]).cut(jobs[key].question.settings["until"])) for key in map(id, requests)]

    def _check(self, jobs: list[Job]) -> None:
        """Refuse clips, languages and questions with which the system cannot run, before any model is loaded."""
        self._refuse_without_audio(jobs)
        for variant, places in group_variants(jobs).items():
            system = self._system_for(variant)
            for n, questions in group_questions([jobs[i] for i in places]).items():
                system.check(list(questions.values()), n)

    def _refuse_without_audio(self, jobs: list[Job]) -> None:
        """Refuse clips without audio if the system needs it; prompts with a transcript in their place are none."""
        if not self.system.hears:
            return
        for job in jobs:
            for clip in job.question.input.clips:
                if isinstance(clip.source, NoAudio):
                    raise clip.source.refuse()

    def _transcribe_replies(self, requests: list[Instance], answers: list[list[Response]]) -> None:
        """Transcribe the spoken replies of all tasks at once; their filters find the transcripts in the response cache.

        lm-eval filters task after task, and each task would load the recognizer of replies again. The models of the
        system are freed already. Replies that sound the same are transcribed by one process.
        """
        answered = [(request.doc, one) for request, found in zip(requests, answers, strict=True) for one in found]
        replies = list(find_audible([doc for doc, _ in answered], [one for _, one in answered]).values())
        transcripts = share_work(
            replies,
            transcribe_replies,
            clip=lambda reply: (reply.clip.key, reply.clip.duration),
            rank=self.rank,
            ranks=self.world_size,
        )
        for reply, texts in zip(replies, transcripts, strict=True):
            reply.keep(texts)

    def loglikelihood(self, requests: list[Instance]) -> list[tuple[float, bool]]:
        """Return the log-likelihood of each continuation after its context and clip, and if it is the greedy one."""
        for request in requests:
            self.system.refuse_task(str(request.task_name))
        jobs = [Job.to_score(request) for request in requests]
        self._refuse_without_audio(jobs)
        return self._share(jobs, _score_continuations)

    def _share(self, jobs: list[Job], work: Callable[[SpeechSystem, list[Job]], list]) -> list:
        for job in jobs:
            self._system_for(job.variant)

        def work_on_own(own: list[Job]) -> list:
            for job in own:
                if job.reference is not None:
                    self._references.update(dict.fromkeys(job.question.prompt.clips, job.reference))
            results: dict[int, Any] = {}
            for variant, places in group_variants(own).items():
                system = self._system_for(variant)
                with system.keep_loaded():
                    results |= zip(places, work(system, [own[i] for i in places]), strict=True)
            return [results[i] for i in range(len(own))]

        return share_work(jobs, work_on_own, clip=first_clip, rank=self.rank, ranks=self.world_size)

    def loglikelihood_rolling(self, requests: list[Instance]) -> list[float]:
        """Refuse tasks with rolling log-likelihoods."""
        raise SpeechIQError(
            "hf-audio",
            "the rolling log-likelihood of a text is not defined for a speech system",
            "run such tasks with --model hf",
        )

    def apply_chat_template(self, chat_history: list[dict[str, str]], add_generation_prompt: bool = True) -> str:
        """Return the messages as plain text: each stage applies the chat template of its own model."""
        return "\n\n".join(message["content"] for message in chat_history)

    @property
    def tokenizer_name(self) -> str:
        """Return the system spec, which lm-eval records as the name of the tokenizer."""
        return self.pretrained

    def get_model_info(self) -> dict[str, Any]:
        """Return what ran, for the `config` of the results file; lm-eval calls it when all docs have scores."""
        end_count()
        done = total(self._done) if self._done else since(self._before)
        counts = ", ".join(f"{name.replace('_', ' ')}: {count}" for name, count in sorted(done.usage.items()))
        idle = "no model had to run"
        with use_store(self._store):
            if store_folder():
                idle += ", nothing was missing from the response cache"
        say(counts or idle)
        variants = [variant for variant in self._systems if variant != SystemVariant()]
        described = self._systems.get(next(iter(variants), SystemVariant()), self.system).describe()
        languages = sorted({variant.language for variant in variants if variant.language is not None})
        if len(languages) > 1:
            described = described | {"languages": languages}
        about = {"pretrained": self.name, "system": described, "device": str(self.device)}
        about |= only_given(parameters=self.system.count_parameters())
        return {"siq": {**about, "usage": dict(done.usage), "replies": dict(done.replies), "speed": done.speeds()}}

    def all_gather(self, tensor: torch.Tensor) -> torch.Tensor:
        """Return the tensors of all processes."""
        return accelerate.utils.gather(tensor)

    def gather_object(self, obj: Any, dst: int = 0) -> list[Any] | None:
        """Return the objects of all processes as a list with one entry, in the order of the docs.

        lm-eval chains the entries of the list; another order of values changes the last digit of a score.
        """
        gathered, done = zip(*accelerate.utils.gather_object([(obj, since(self._before))]), strict=True)
        self._done = done
        return [in_doc_order(gathered)] if self.rank == dst else None

    def barrier(self) -> None:
        """Wait for all processes."""
        self.state.wait_for_everyone()


def _respond(system: SpeechSystem, jobs: list[Job]) -> list[list[Response]]:
    to_transcribe = [i for i, job in enumerate(jobs) if job.question.purpose == TRANSCRIBE]
    transcripts = system.transcribe([jobs[i].question.prompt for i in to_transcribe])
    replies["transcripts"] += len(transcripts)
    replies["transcripts_at_limit"] += sum(transcript.at_limit for transcript in transcripts)
    answers = {i: [transcript] for i, transcript in zip(to_transcribe, transcripts, strict=True)}
    for n, questions in group_questions(jobs).items():
        answers.update(zip(questions, system.answer(list(questions.values()), n), strict=True))
    return [answers[i] for i in range(len(jobs))]


def _score_continuations(system: SpeechSystem, jobs: list[Job]) -> list[Scored]:
    questions = [job.question for job in jobs]
    continuations = [question.options[0] for question in questions]
    return system.loglikelihood([question.prompt for question in questions], continuations)


def _choose_device(device: str | None, state: PartialState, count: int) -> torch.device:
    """Return the requested one of `count` devices; that of this process by default and if several processes run."""
    own = state.device
    if device is None:
        return own
    try:
        requested = torch.device(device)
    except (RuntimeError, TypeError) as error:
        raise SpeechIQError(f"--device {device}", "not a kind of device", "give cpu, cuda, cuda:1 or mps") from error
    alone = state.num_processes == 1
    # The state is one for the process: after a model on the processor it does not know the accelerator.
    accelerator = torch.accelerator.current_accelerator() if alone else None
    kinds = {own.type, "cpu"} | ({accelerator.type} if accelerator is not None else set()) if alone else {own.type}
    if requested.type not in kinds or (requested.type != "cpu" and (requested.index or 0) >= count):
        known = f"{own.type}:0 to {own.type}:{count - 1}" if count > 1 and own.type != "cpu" else own.type
        raise SpeechIQError(
            f"--device {device}", f"this machine has {known} only", f"give --device {own.type}, or leave it out"
        )
    return requested if alone else own


def _check_spread(options: dict[str, Any], processes: int) -> None:
    """Refuse several processes that would each spread a model over the same accelerators."""
    spread = [name for name in options if name.endswith("device_map")]
    if spread and processes > 1:
        raise SpeechIQError(
            f"{spread[0]}={options[spread[0]]}",
            f"{processes} processes would each spread the model over the same accelerators",
            "run one process, or leave it out",
        )


def _read_batch_size(batch_size: int | str) -> BatchSize:
    """Return a positive whole number, or `auto` (lm-eval's `auto:N` means the same here)."""
    if str(batch_size).partition(":")[0] == "auto":
        return "auto"
    if not str(batch_size).isdecimal() or int(batch_size) < 1:
        raise SpeechIQError(f"--batch_size {batch_size}", "neither a whole number above 0 nor auto", "give one of them")
    return int(batch_size)
