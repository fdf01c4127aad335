"""Compare next-token logits without computing them: by the Gram matrix of a language model's output head.

With a linear head of weights W and logits g = W h of a state h, the product of two logits is g'g2 = h' G h2 with
G = W' W. A bias of the head appends 1 to h. A factor on all logits does not change a cosine. A state has thousands of
numbers, the logits of a text have as many as the vocabulary.
"""

from __future__ import annotations

import io
import logging
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from speechiq.core.files.plain import is_file, write_whole

if TYPE_CHECKING:
    import torch

    from speechiq.metrics.models import TextModel

#: The Gram matrix of a head; None if logits are not a linear function of states, so that they themselves are compared.
Head = np.ndarray | None
FILE = "head.npy"
BLOCK = 8192
PROBE = "Hello"
#: How much the cosine of a model's logits and of those of its head alone may differ from 1 (float16 and bfloat16).
ROUNDING = 1e-4
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
        if 1 - torch.cosine_similarity(logits, own, dim=0) > ROUNDING:
            return None
        return compute_gram(head.weight, head.bias)


def read_head(folder: Path | None, load: Callable[[], TextModel]) -> Head:
    """Return the head of a model from its file in the folder of its rows (None for no file), else compute it."""
    if folder is not None and is_file(folder / FILE):
        try:
            found: np.ndarray = np.load(folder / FILE, allow_pickle=False)
            return found if found.size else None
        except (OSError, ValueError, EOFError):
            log.warning("%s: damaged, it is computed again", folder / FILE)
    head = compute_head(load())
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
