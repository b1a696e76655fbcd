"""Shapes of well-known models, to fill a form with one click.

The numbers are the published configurations; what a model leaves open (its training sequence
length, for one) is what the paper trained with.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ModelShape:
    """The sizes of a decoder-only transformer. `sequence_length` is in tokens."""

    key: str
    title: str
    hidden_size: int
    layers: int
    ffn_size: int
    vocab_size: int
    sequence_length: int
    source: str


SHAPES = (
    ModelShape("llama-3-8b", "Llama 3 8B", 4096, 32, 14336, 128256, 8192, "Llama 3 model configuration"),
    ModelShape("llama-3-70b", "Llama 3 70B", 8192, 80, 28672, 128256, 8192, "Llama 3 model configuration"),
    ModelShape("llama-3-405b", "Llama 3.1 405B", 16384, 126, 53248, 128256, 8192, "Llama 3 model configuration"),
    ModelShape("gpt-3-175b", "GPT-3 175B", 12288, 96, 49152, 51200, 2048, "Narayanan et al. 2021, §5.1"),
)
