"""Embed texts with a language model: the last layer's state at the token that predicts the next word.

States are cached on disk: the references of a data set are embedded once for all systems, and the model is loaded
only for new texts.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from functools import cache, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from speechiq.core.batches import OnResult, needing_memory, run_in_batches
from speechiq.core.checkpoints import is_language_model, read_config, resolve
from speechiq.core.context import check_tokens, read_context
from speechiq.core.damage import check_filled, find_damaged_weights
from speechiq.core.errors import SpeechIQError
from speechiq.core.identity import identity
from speechiq.core.opening import opening
from speechiq.core.progress import progress_bar
from speechiq.core.stage_cache import StageCache, cached
from speechiq.core.store import store_folder
from speechiq.core.usage import usage
from speechiq.metrics.normalizer import RULES

if TYPE_CHECKING:
    from transformers import PreTrainedConfig, PreTrainedModel

DEFAULT_EMBEDDER = "meta-llama/Llama-3.1-8B-Instruct"
INSTEAD = (
    f"name another embedder, such as --metadata embedder=demo:SmolLM2-135M-Instruct (`siq demo fetch`), which needs no "
    f"hub; {DEFAULT_EMBEDDER} is gated: accept its license on its page and run `hf auth login`"
)
LONGER = "leave the item out, or name an embedder with a longer context"
NO_NAMES: Mapping[str, str] = {}
CPU_BATCH, ACCELERATOR_BATCH = 1, 32
OPTIONS = {
    "embedder_template": ("plain", "chat"),
    "embedder_text": ("raw", *RULES),
    "embedder_dtype": ("float32", "bfloat16", "float16"),
}


def read_embedding(metadata: Mapping[str, Any]) -> dict[str, str]:
    """Return the embedder and its options from a task's metadata, with the default of each that is missing.

    Returns:
        `embedder`, `embedder_template` (`plain`, or `chat`: the prompt as a user's turn of the model's chat
        template), `embedder_text` (`raw`, or the normalizer that is applied to both texts) and
        `embedder_dtype`, the dtype of the embedder.

    Raises:
        SpeechIQError: The embedder is not a language model, or an option has an unknown value.
    """
    embedding = {"embedder": DEFAULT_EMBEDDER} | {option: known[0] for option, known in OPTIONS.items()}
    embedding |= {option: metadata[option] for option in embedding if option in metadata}
    for option, known in OPTIONS.items():
        if embedding[option] not in known:
            raise SpeechIQError(f"{option}={embedding[option]}: unknown; known are {', '.join(known)}")
    if not isinstance(name := embedding["embedder"], str) or not name:
        raise SpeechIQError(f"embedder={name!r:.80}: not the name of a model; give a hub id, a folder or demo:NAME")
    check_embedder(name)
    return embedding


def check_embedder(name: str) -> PreTrainedConfig:
    """Refuse an embedder that is damaged or not a language model, by its config and the headers of its weights.

    Returns:
        The embedder's config.

    Raises:
        SpeechIQError: No config has that name, it belongs to another kind of model, or files are cut off or missing.
    """
    config = read_config(name, called=f"embedder={name}", instead=INSTEAD, trusting="choose another embedder")
    if damage := find_damaged_weights(resolve(name)):
        raise SpeechIQError(f"embedder={name}: {damage}; fetch or save the checkpoint again")
    if not is_language_model(config):
        raise SpeechIQError(
            f"embedder={name}: a {config.model_type} model is not a language model; name a causal language "
            f"model, such as --metadata embedder={DEFAULT_EMBEDDER}"
        )
    return config


def embed(
    texts: Sequence[str],
    name: str,
    template: str = "plain",
    dtype: str = "float32",
    owners: Mapping[str, str] | None = None,
) -> np.ndarray:
    """Return the state of each text, shape (texts, hidden size), float32; states in the cache are not computed again.

    Args:
        texts: The texts to embed.
        name: See `Embedder`.
        template: See `Embedder`.
        dtype: See `Embedder`.
        owners: Text -> its name in errors.

    Raises:
        SpeechIQError: A text is longer than the embedder's context.
    """

    def compute(new: list[str], on_result: OnResult) -> None:
        load_embedder(name, template, dtype).embed(new, on_result, owners or {})

    rows = cached(_stage_cache(name, template, dtype, store_folder()), texts, str, compute, str)
    return np.stack([np.frombuffer(base64.b64decode(row), "<f4") for row in rows])


@cache
def _stage_cache(name: str, template: str, dtype: str, folder: Path | None) -> StageCache:
    stage = {"stage": "embedder", "model": name, "dtype": dtype, "template": template, **identity(name)}
    return StageCache(stage, folder)


class Embedder:
    """A causal language model whose hidden states are read.

    Args:
        name: Hub id, folder, or `demo:NAME`.
        template: `plain` or `chat`.
        dtype: `float32`, `bfloat16` or `float16`.
        batch_size: Texts per batch; by default 32 on an accelerator, halved when memory runs out, and 1 on a CPU.

    Raises:
        SpeechIQError: The model is not a language model, has no chat template for `chat`, or is too large.
    """

    def __init__(
        self, name: str, template: str = "plain", dtype: str = "float32", batch_size: int | None = None
    ) -> None:
        from accelerate import PartialState
        from transformers import AutoTokenizer

        config = check_embedder(name)
        self._place = resolve(name)
        self._model: PreTrainedModel | None = None
        self.name, self.dtype, self.device, self.template = name, dtype, PartialState().device, template
        self.batch_size = batch_size or (CPU_BATCH if self.device.type == "cpu" else ACCELERATOR_BATCH)
        with self._opening():
            self.tokenizer = AutoTokenizer.from_pretrained(self._place, trust_remote_code=False)
        self.context = read_context(config, self.tokenizer)
        if template == "chat" and self.tokenizer.chat_template is None:
            raise SpeechIQError(f"embedder={name}: has no chat template; leave embedder_template plain")

    def load(self) -> PreTrainedModel:
        """Return the model, loaded into memory once.

        Raises:
            SpeechIQError: Files are damaged, or the model is too large.
        """
        if self._model is not None:
            return self._model
        import torch
        from transformers import AutoModel

        with (
            self._opening(),
            needing_memory(
                f"embedder={self.name}: does not fit into memory in {self.dtype}",
                "--metadata embedder_dtype=bfloat16, or with a smaller embedder",
            ),
        ):
            model, found = AutoModel.from_pretrained(
                self._place, dtype=getattr(torch, self.dtype), device_map={"": self.device}, trust_remote_code=False,
                output_loading_info=True,
            )  # fmt: skip
            check_filled(f"embedder={self.name}", model, found["missing_keys"])
        self._model = model.eval()
        return self._model

    def _opening(self) -> AbstractContextManager[None]:
        fix = "fetch it again, or choose another embedder"
        return opening(f"embedder={self.name}: cannot be loaded", fix, self._place, trusting=fix)

    def embed(self, texts: Sequence[str], on_result: OnResult, owners: Mapping[str, str] = NO_NAMES) -> None:
        """Pass the last hidden state at the last token of each text to `on_result`.

        A batch has texts of similar length, padded on the right: in float32 a text's state does not depend on the
        other texts of its batch, to 1e-5. On a CPU, where batches save nothing, each text is a batch, and its state is
        the same to the last bit.

        Args:
            texts: The texts to embed.
            on_result: Called after each batch with the positions of its texts and their states, little-endian
                float32 in base64.
            owners: Text -> its name in errors.

        Raises:
            SpeechIQError: A text is longer than the model's context, which is checked before the model is loaded, or
                a state is not a number.
        """
        import torch

        tokens = self._tokenize(texts)
        for text, ids in zip(texts, tokens, strict=True):
            owner = owners.get(text, f"the text {text[:60]!r}")
            check_tokens(f"embedder={self.name}", owner, ids, 0, self.context, LONGER)
        self.load()
        with progress_bar(total=len(tokens), verb="embedding", unit="text") as bar, torch.inference_mode():
            run_in_batches(
                tokens, self._read, length=len, batch_size=self.batch_size, progress=bar, on_result=on_result
            )

    def _read(self, batch: Sequence[Sequence[int]]) -> list[str]:
        import torch

        rows = [torch.tensor(row, device=self.device) for row in batch]
        ids = torch.nn.utils.rnn.pad_sequence(rows, batch_first=True)
        lengths = torch.tensor([len(row) for row in rows], device=self.device)
        mask = (torch.arange(ids.shape[1], device=self.device) < lengths[:, None]).long()
        hidden = self.load()(input_ids=ids, attention_mask=mask, use_cache=False).last_hidden_state
        states = hidden[torch.arange(len(rows)), lengths - 1].float().cpu().numpy().astype("<f4")
        if not np.isfinite(states).all():
            raise SpeechIQError(
                f"embedder={self.name}: its states overflow in {self.dtype}; give --metadata embedder_dtype=bfloat16"
            )
        usage["embeddings"] += len(batch)
        return [base64.b64encode(state.tobytes()).decode() for state in states]

    def _tokenize(self, texts: Sequence[str]) -> list[list[int]]:
        if self.template == "plain":
            tokens: list[list[int]] = self.tokenizer(list(texts)).input_ids
            return tokens
        turns = [[{"role": "user", "content": text}] for text in texts]
        tokens = self.tokenizer.apply_chat_template(turns, add_generation_prompt=True, return_dict=True)["input_ids"]
        return tokens


@lru_cache(maxsize=1)
def load_embedder(name: str, template: str = "plain", dtype: str = "float32") -> Embedder:
    """Return the embedder `name`; the last one that was loaded stays in memory."""
    return Embedder(name, template, dtype)
