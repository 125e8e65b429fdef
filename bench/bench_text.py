# SPDX-License-Identifier: BSD-2-Clause
# Makes the text that programs compress while benchmarks record.
"""Text for benchmarks, equal in each run."""
import random

TEXT_SIZE = 27_000_000


def make_text(path, size):
    """Writes sentences of 4,000 invented words, a few of them frequent; equal in each run."""
    chance = random.Random(27)
    syllables = [a + b for a in "bcdfghklmnprstvw" for b in ("a", "e", "i", "o", "u", "an", "er")]
    words = ["".join(chance.choices(syllables, k=chance.randint(1, 4))) for _ in range(4000)]
    weights = [1 / (rank + 2) for rank in range(len(words))]
    written = 0
    with open(path, "w") as file:
        while written < size:
            line = " ".join(chance.choices(words, weights, k=2000)).replace(" ba ", ".\n")
            written += file.write(line[:size - written])
