#!/usr/bin/env python3
"""Draw a page of text, turn it, and read back what the page orientation model says.

usage: page.py draw OUT.npz            a batch of four: the page as it is, and turned by 90, 180 and 270 degrees
       page.py show PAGES.npz ANSWER.npz   prints the page and the model's answer for each; exit 1 on a wrong one
"""
import sys

import numpy as np

LABELS = (0, 90, 180, 270)
# Letters of 5 x 7 dots, a row a string of five bits.
FONT = {
    "a": "00000 00000 01110 00001 01111 10001 01111", "b": "10000 10000 10110 11001 10001 10001 11110",
    "c": "00000 00000 01110 10000 10000 10001 01110", "d": "00001 00001 01101 10011 10001 10001 01111",
    "e": "00000 00000 01110 10001 11111 10000 01110", "f": "00110 01001 01000 11100 01000 01000 01000",
    "h": "10000 10000 10110 11001 10001 10001 10001", "i": "00100 00000 01100 00100 00100 00100 01110",
    "k": "10000 10000 10010 10100 11000 10100 10010", "l": "01100 00100 00100 00100 00100 00100 01110",
    "m": "00000 00000 11010 10101 10101 10001 10001", "n": "00000 00000 10110 11001 10001 10001 10001",
    "o": "00000 00000 01110 10001 10001 10001 01110", "r": "00000 00000 10110 11001 10000 10000 10000",
    "s": "00000 00000 01110 10000 01110 00001 11110", "t": "01000 01000 11100 01000 01000 01001 00110",
    "u": "00000 00000 10001 10001 10001 10011 01101", "v": "00000 00000 10001 10001 10001 01010 00100",
    "w": "00000 00000 10001 10001 10101 10101 01010", "T": "11111 00100 00100 00100 00100 00100 00100",
    "A": "01110 10001 10001 11111 10001 10001 10001", "I": "01110 00100 00100 00100 00100 00100 01110",
    ".": "00000 00000 00000 00000 00000 01100 01100", " ": " ".join(["00000"] * 7),
}
TEXT = ("The answer is in the model. A model", "is no more than a list of sums and", "a table of numbers.",
        "The sums are known before it runs so", "the code for them can be made once", "and ahead of time.",
        "It is then a small file that has no", "need of the tools that made it.")
SIZE = 224


def draw_page():
    """Returns a white page with TEXT in black, SIZE x SIZE, values 0 to 255."""
    page = np.full((SIZE, SIZE), 255.0, np.float32)
    top, previous = 12, ""
    for line in TEXT:
        for column, letter in enumerate(line):
            glyph = np.array([[bit == "1" for bit in row] for row in FONT[letter].split()])
            left = 6 + 6 * column
            page[top:top + 7, left:left + 5][glyph] = 0
        top += 34 if line.endswith(".") and len(line) < 30 else 20
    return page


def normalise(page):
    """Returns the model's input for a page: three channels, ImageNet mean and deviation."""
    mean = np.array([0.485, 0.456, 0.406], np.float32).reshape(3, 1, 1)
    deviation = np.array([0.229, 0.224, 0.225], np.float32).reshape(3, 1, 1)
    return (page[None] / 255 - mean) / deviation


def draw(path):
    page = draw_page()
    # A page turned clockwise by 90 degrees is one that numpy turns three times counter-clockwise.
    turned = [normalise(np.rot90(page, k)) for k in (0, 3, 2, 1)]
    np.savez(path, x=np.stack(turned).astype(np.float32))


def show(pages, answer):
    # Two rows of dots a line of text, of the first words only: what fits a terminal.
    dots = np.load(pages)["x"][0, 0, 11:20, 5:101] < 0
    for upper, lower in zip(dots[0:8:2], dots[1:9:2]):
        print("    " + "".join(" \u2580\u2584\u2588"[a + 2 * b] for a, b in zip(upper, lower)).rstrip())
    scores = next(iter(np.load(answer).values()))
    right = True
    for turned, row in zip(LABELS, scores):
        said = LABELS[int(np.argmax(row))]
        right &= said == turned
        print(f"    page turned by {turned:3} degrees: the model says {said:3} (score {row.max():.3f})")
    sys.exit(0 if right else 1)


if __name__ == "__main__":
    if sys.argv[1:2] == ["draw"] and len(sys.argv) == 3:
        draw(sys.argv[2])
    elif sys.argv[1:2] == ["show"] and len(sys.argv) == 4:
        show(sys.argv[2], sys.argv[3])
    else:
        sys.exit(__doc__)
