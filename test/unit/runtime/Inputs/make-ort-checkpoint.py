#!/usr/bin/env python3
"""Write ort-adamw.checkpoint as ONNX Runtime Training lays it out, with the flatbuffers package.

usage: make-ort-checkpoint.py OUTPUT [--version N] [--external]

Parameters w (float32 [2, 3]) and b (float32 [2]), frozen f (int64 []), moments of w and b, step 7, properties.
"""
import argparse

import flatbuffers
import numpy as np

FLOAT, INT64 = 1, 7


def tensor(builder, name, array):
    """Adds a Tensor table: name, doc_string, dims, data_type, raw_data, string_data."""
    raw = builder.CreateByteVector(array.tobytes())
    dims = builder.CreateNumpyVector(np.array(array.shape, np.int64))
    text = builder.CreateString(name)
    builder.StartObject(6)
    builder.PrependUOffsetTRelativeSlot(0, text, 0)
    builder.PrependUOffsetTRelativeSlot(2, dims, 0)
    builder.PrependInt32Slot(3, FLOAT if array.dtype == np.float32 else INT64, 0)
    builder.PrependUOffsetTRelativeSlot(4, raw, 0)
    return builder.EndObject()


def vector(builder, offsets):
    builder.StartVector(4, len(offsets), 4)
    for offset in reversed(offsets):
        builder.PrependUOffsetTRelative(offset)
    return builder.EndVector()


def table(builder, fields):
    """Adds a table from (kind, value) in the schema's order; None is absent."""
    builder.StartObject(len(fields))
    for slot, field in enumerate(fields):
        if field is None:
            continue
        kind, value = field
        getattr(builder, f"Prepend{kind}Slot")(slot, value, 0)
    return builder.EndObject()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("output")
    parser.add_argument("--version", type=int, default=2)
    parser.add_argument("--external", action="store_true")
    args = parser.parse_args()
    ref = lambda offset: ("UOffsetTRelative", offset)
    b = flatbuffers.Builder(1024)
    f32 = lambda *values: np.array(values, np.float32)
    w, bias = f32(1, 2, 3, 4, 5, 6).reshape(2, 3), f32(-1, 0.5)
    trainable = vector(b, [tensor(b, "b", bias), tensor(b, "w", w)])
    frozen = vector(b, [tensor(b, "f", np.array(9, np.int64))])
    module = table(b, [ref(trainable), ref(frozen), None, ("Bool", True) if args.external else None])
    states = []
    for name, value in (("b", bias), ("w", w)):
        moments = vector(b, [tensor(b, "momentum0", value * 10), tensor(b, "momentum1", value * value)])
        states.append(table(b, [ref(b.CreateString(name)), ref(moments)]))
    states = vector(b, states)
    group = table(b, [ref(b.CreateString("group0")), ("Int64", 7), ("Float32", 0.25), ref(states)])
    groups = vector(b, [group])
    ints = vector(b, [table(b, [ref(b.CreateString("epoch")), ("Int64", 4)])])
    floats = vector(b, [table(b, [ref(b.CreateString("loss")), ("Float32", 0.5)])])
    strings = vector(b, [table(b, [ref(b.CreateString("who")), ref(b.CreateString("me"))])])
    bag = table(b, [ref(ints), ref(floats), ref(strings)])
    root = table(b, [("Int32", args.version), ref(module), ref(groups), ref(bag)])
    b.Finish(root, file_identifier=b"ODTC")
    with open(args.output, "wb") as out:
        out.write(b.Output())


main()
