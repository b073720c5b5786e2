"""Attention."""
import numpy as np

from cases import case, normal


def heads(shape, seed=0):
    return normal(*shape, seed=seed, scale=0.7)


def attention(q, k, v, mask=None, past_key=None, past_value=None, **attributes):
    # Heads of a size that only the run knows are refused.
    attributes["dynamic"] = False
    case("Attention", trim([q, k, v, mask, past_key, past_value]), **attributes)


def trim(inputs):
    while inputs[-1] is None:
        inputs.pop()
    return inputs


attention(heads((2, 3, 4, 5)), heads((2, 3, 6, 5), 1), heads((2, 3, 6, 4), 2))
attention(heads((1, 2, 3, 4)), heads((1, 2, 3, 4), 1), heads((1, 2, 3, 4), 2), is_causal=1)
attention(heads((1, 4, 3, 2)), heads((1, 2, 5, 2), 1), heads((1, 2, 5, 3), 2), scale=0.3)
attention(heads((2, 3, 8)), heads((2, 5, 8), 1), heads((2, 5, 6), 2), q_num_heads=2, kv_num_heads=2)
attention(heads((1, 2, 3, 4)), heads((1, 2, 5, 4), 1), heads((1, 2, 5, 4), 2), normal(3, 5, seed=3))
attention(heads((1, 1, 2, 3)), heads((1, 1, 4, 3), 1), heads((1, 1, 4, 3), 2), np.array([[1, 1, 0, 1], [0, 1, 1, 0]], bool), softcap=2.0)
attention(heads((1, 2, 2, 3)), heads((1, 2, 2, 3), 1), heads((1, 2, 2, 3), 2), None, heads((1, 2, 3, 3), 4), heads((1, 2, 3, 3), 5),
          is_causal=1, outputs=3)
