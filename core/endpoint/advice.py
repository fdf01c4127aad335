"""Say what a user can do about a failed call, in one line per HTTP status."""

from typing import NamedTuple

UNKNOWN_KEY = 401
#: By the fields of `Advice` and the environment variable of the key.
BY_STATUS = {
    UNKNOWN_KEY: "check {key_variable}",
    403: "check {key_variable}",
    404: "check {base_url} and the model's name",
    413: "try {size}",
    429: "try {patience}",
}
OTHERWISE = "correct what it names"


class Advice(NamedTuple):
    """Describe what a user can do about a fault, in terms of the options of the user's command.

    Attributes:
        base_url: The option that sets the address.
        patience: What to try if no answer comes in time.
        size: What to try if a request is too large.
        length: The option that limits the tokens of an answer.
    """

    base_url: str
    patience: str
    size: str
    length: str

    def about(self, status: int, key_variable: str) -> str:
        """Return what to do about an HTTP error.

        >>> Advice("--base-url", "fewer --workers", "a shorter text", "").about(429, "OPENAI_API_KEY")
        'try fewer --workers'
        """
        return BY_STATUS.get(status, OTHERWISE).format(key_variable=key_variable, **self._asdict())
