"""Write and score continuations of prompts by a `transformers` checkpoint, with one prefill per prompt."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from functools import partial
from typing import Any, NamedTuple, TypeVar

import torch
from transformers import BatchFeature, Cache, GenerationConfig, PreTrainedModel, PreTrainedTokenizerBase

from speechiq.core.batches import OnResult, group_by_size, run_in_batches
from speechiq.core.console import progress_bar
from speechiq.core.prompt import Prompt, TextPrompt, audio_seconds
from speechiq.core.usage import count_replies, is_recording, measured, timed
from speechiq.engines._shared.checkpoint import CheckpointEngine
from speechiq.engines._shared.prefill import (
    Decode,
    OnFinished,
    Prefill,
    PrefixCaches,
    Request,
    Result,
    can_join,
    count_cut,
    fill_cache,
    prefill_text,
    write_answers,
)
from speechiq.engines._shared.sampling import sampling_settings
from speechiq.engines.base import Writer

Item = TypeVar("Item")


class ModelInputs(NamedTuple):
    """Hold the inputs of a model for one prompt.

    Attributes:
        ids: token ids; audio is a number of audio tokens.
        prefix: number of first tokens that are prefilled alone; with audio, all up to the end of the last audio.
        features: outputs of the processor for the audio, under the model's own names.
    """

    ids: list[int]
    prefix: int = 0
    features: Mapping[str, torch.Tensor] = {}
    clips: tuple[str, ...] = ()


class CheckpointWriter(CheckpointEngine, Writer):
    """Share what text and audio models of `transformers` have in common.

    The prefix of a prompt is prefilled alone and without padding, so that nothing depends on the batch, and once for
    all prompts in a row that begin with it. The caches are joined and copied, and the rest is done in batches. Answers
    that are timed are made for one prompt after the other, and none uses the prefix of an earlier one.
    """

    streams = True

    tokenizer: PreTrainedTokenizerBase
    #: Generation settings of the checkpoint, read when the engine is opened: a damaged file ends the run at its start.
    own_settings: GenerationConfig

    def keep_loaded(self) -> AbstractContextManager[None]:
        """Return a block in which the model stays in memory from call to call."""
        return self.checkpoint.keep_loaded()

    def sampling(self, settings: Mapping[str, Any]) -> dict[str, Any]:
        """Return the sampling settings in effect; see `sampling.sampling_settings`."""
        return sampling_settings(settings, self.own_settings)

    def effective(self, settings: Mapping[str, Any]) -> dict[str, Any]:
        """Return the given settings and the defaults in effect, for the keys of the response cache."""
        return {**settings, **self.sampling(settings)}

    @property
    def pad_token_id(self) -> int:
        """Return the id of the padding token; if the tokenizer has none, that of the end of a text."""
        known = self.tokenizer.pad_token_id
        return self.tokenizer.eos_token_id if known is None else known

    def _run(
        self,
        label: tuple[str, str],
        prompts: Sequence[Prompt] | Sequence[TextPrompt],
        items: Sequence[tuple[Item, Any]],
        build: Callable[[tuple[Item, Any]], tuple[ModelInputs, Request]],
        decode: Decode[Request, Result],
        on_result: OnResult,
        *,
        length: Callable[[tuple[Item, Any]], Any],
        kind: Callable[[tuple[Item, Any]], bool],
        are_answers: bool = False,
    ) -> list[Result]:
        """Return the results of `decode`, which continues prompts, for all items; see `run_in_batches`.

        An item is a prompt in any form with a request: its seeds if the results `are_answers`, or else its
        continuations, for example. `build` returns its inputs and the request, `kind` whether it has a prefix. `label`
        has verb and unit of the progress bar.
        """
        verb, unit = label
        title, is_timed, caches = f"{self.checkpoint.name} {verb}", are_answers and is_recording(), PrefixCaches()

        def steps(item: tuple[Item, Any]) -> int:
            return len(item[1]) if are_answers else 1

        def run(batch: list[tuple[Item, Any]]) -> Sequence[Result]:
            if not is_timed:
                return self._run_batch(model, caches, build, decode, progress.update, batch)
            self._forget_audio()
            with timed(batch[0][1][0]):
                return self._run_batch(model, PrefixCaches(), build, decode, progress.update, batch)

        with (
            self.checkpoint.loaded() as model,
            progress_bar(total=sum(map(steps, items)), verb=title, unit=unit) as progress,
            measured(verb, audio_seconds(prompts)),
        ):
            return run_in_batches(
                items,
                run,
                length=length,
                batch_size=1 if is_timed else self.checkpoint.batch_size,
                progress=progress,
                on_result=on_result,
                kind=kind,
                steps=steps,
            )

    def _forget_audio(self) -> None:
        """Drop what an engine keeps of the audio of a prompt for the next one."""

    def _run_batch(
        self,
        model: PreTrainedModel,
        prefix_caches: PrefixCaches,
        build: Callable[[tuple[Item, Any]], tuple[ModelInputs, Request]],
        decode: Decode[Request, Result],
        on_finished: OnFinished,
        batch: Sequence[tuple[Item, Any]],
    ) -> Sequence[Result]:
        rows, requests, caches = [], [], []
        for inputs, request in map(build, batch):
            rows.append(inputs.ids)
            requests.append(request)
            if inputs.prefix:
                key: tuple[str | int, ...] = (*inputs.clips, *inputs.ids[: inputs.prefix])
                caches.append(prefix_caches.get(key, partial(self._prefill_prefix, model, inputs)))
        prefix_caches.drop_all_but_last()
        if caches and not can_join(caches[0]):
            return [
                decode(model, prefill_text(model, [row], [cache]), [request], on_finished)[0]
                for row, cache, request in zip(rows, caches, requests, strict=True)
            ]
        return decode(model, prefill_text(model, rows, caches), requests, on_finished)

    def _prefill_prefix(self, model: PreTrainedModel, inputs: ModelInputs) -> Cache:
        ids = torch.tensor([inputs.ids[: inputs.prefix]], device=model.device)
        features = BatchFeature(dict(inputs.features)).to(model.device, model.dtype)
        return fill_cache(model, input_ids=ids, attention_mask=torch.ones_like(ids), **features)

    def _decode_answers(
        self,
        settings: Mapping[str, Any],
        model: PreTrainedModel,
        prefill: Prefill,
        seeds: Sequence[Sequence[int]],
        on_finished: OnFinished,
    ) -> list[list[str]]:
        rows = write_answers(model, prefill, seeds, settings, self.pad_token_id, on_finished)
        count_replies(len(rows), count_cut(model, rows, settings, self.pad_token_id))
        texts = self.tokenizer.batch_decode(rows.tolist(), skip_special_tokens=True)
        return group_by_size(texts, map(len, seeds))
