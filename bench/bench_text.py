# SPDX-License-Identifier: BSD-2-Clause
# The text that is compressed while benchmarks record.
"""Text for benchmarks: the same every time."""
import random

TEXT_SIZE = 27_000_000


def make_text(path, size):
    """Sentences of 4,000 made-up words, some of them frequent; the same every time."""
    chance = random.Random(27)
    syllables = [a + b for a in "bcdfghklmnprstvw" for b in ("a", "e", "i", "o", "u", "an", "er")]
    words = ["".join(chance.choices(syllables, k=chance.randint(1, 4))) for _ in range(4000)]
    weights = [1 / (rank + 2) for rank in range(len(words))]
    written = 0
    with open(path, "w") as file:
        while written < size:
            line = " ".join(chance.choices(words, weights, k=2000)).replace(" ba ", ".\n")
            written += file.write(line[:size - written])
