"""A compiled training module by its binary interface alone (runtime/include/onnx-aot/abi), without the runtime library.

The state is numpy arrays here; single thread. Used by the tests of training.
"""
import ctypes
import json
import struct

import numpy as np

ABI_VERSION = 4
IN_OUT = 1
(USER, PARAMETER, GRADIENT, SLOT, ACCUMULATE, LEARNING_RATE, STEP, SEED, LOSS_SCALE, GRADIENT_SCALE, LOSS, GRADIENT_NORM,
 UPDATED) = range(13)
TRAINABLE, FROZEN, STATE = range(3)
DTYPES = {1: np.float32, 2: np.uint8, 3: np.int8, 6: np.int32, 7: np.int64, 9: np.bool_, 10: np.float16, 11: np.float64}


def structure(name, fields):
    return type(name, (ctypes.Structure,), {"_fields_": fields})


C, P = ctypes, ctypes.c_void_p
ValueInfo = structure("ValueInfo", [("name", C.c_char_p), ("type", C.c_int32), ("rank", C.c_int32),
                                    ("dims", C.POINTER(C.c_int64)), ("flags", C.c_uint32), ("reserved", C.c_uint32)])
FAIL = C.CFUNCTYPE(None, P, C.c_char_p)
Runtime = structure("Runtime", [("user", P), ("parallel_for", P), ("allocate", P), ("release", P),
                                ("allocate_output", P), ("fail", FAIL)])
PLAN = C.CFUNCTYPE(C.c_int32, C.POINTER(C.c_int64), C.POINTER(C.c_int64), C.POINTER(C.c_uint64))
RUN = C.CFUNCTYPE(C.c_int32, C.POINTER(Runtime), P, C.POINTER(C.c_int64), C.POINTER(P), C.POINTER(P), P)
Module = structure("Module", [
    ("abi_version", C.c_uint32), ("struct_bytes", C.c_uint32), ("name", C.c_char_p), ("target", C.c_char_p),
    ("num_inputs", C.c_int32), ("num_outputs", C.c_int32), ("num_symbols", C.c_int32), ("reserved", C.c_int32),
    ("inputs", C.POINTER(ValueInfo)), ("outputs", C.POINTER(ValueInfo)), ("symbols", C.POINTER(C.c_char_p)),
    ("weight_bytes", C.c_uint64), ("weights", P), ("weights_file", C.c_char_p), ("weights_hash", C.c_uint64),
    ("arena_bytes", C.c_uint64), ("plan", PLAN), ("run", RUN)])
Binding = structure("Binding", [("role", C.c_int32), ("index", C.c_int32), ("slot", C.c_int32)])
Program = structure("Program", [("module", C.POINTER(Module)), ("inputs", C.POINTER(Binding)),
                                ("outputs", C.POINTER(Binding))])
ParameterInfo = structure("ParameterInfo", [("name", C.c_char_p), ("type", C.c_int32), ("rank", C.c_int32),
                                            ("dims", C.POINTER(C.c_int64)), ("kind", C.c_int32), ("group", C.c_int32)])
Adapter = structure("Adapter", [("weight", C.c_char_p), ("a", C.c_int32), ("b", C.c_int32), ("transposed", C.c_int32),
                                ("reserved", C.c_int32), ("scale", C.c_double)])
Training = structure("Training", [
    ("abi_version", C.c_uint32), ("struct_bytes", C.c_uint32), ("name", C.c_char_p), ("loss", C.c_char_p),
    ("optimizer", C.c_char_p), ("fingerprint", C.c_uint64 * 2), ("num_parameters", C.c_int32), ("num_slots", C.c_int32),
    ("parameters", C.POINTER(ParameterInfo)), ("slots", C.POINTER(C.c_char_p)), ("num_inputs", C.c_int32),
    ("num_targets", C.c_int32), ("inputs", C.POINTER(C.c_char_p)), ("train", Program), ("eval", Program),
    ("update", Program), ("fused", Program), ("infer", Program), ("model", P), ("model_bytes", C.c_uint64),
    ("adapters", C.POINTER(Adapter)), ("num_adapters", C.c_int32), ("reserved", C.c_int32)])


class RunFailed(Exception):
    pass


def read_safetensors(path):
    """The tensors of a file, and its metadata."""
    data = open(path, "rb").read()
    size, = struct.unpack("<Q", data[:8])
    header = json.loads(data[8:8 + size])
    metadata = header.pop("__metadata__", {})
    types = {"F64": np.float64, "F32": np.float32, "F16": np.float16, "U8": np.uint8}
    tensors = {}
    for name, entry in header.items():
        begin, end = entry["data_offsets"]
        tensors[name] = np.frombuffer(data[8 + size + begin:8 + size + end],
                                      types[entry["dtype"]]).reshape(entry["shape"]).copy()
    return tensors, metadata


def aligned(size):
    """A buffer of garbage at a multiple of 64: nothing may rely on zeros."""
    raw = np.full(size + 64, 0xA5, np.uint8)
    start = -raw.ctypes.data % 64
    return raw[start:start + size]


class TrainingModule:
    """The programs of a .so and the state that they share."""

    def __init__(self, path, checkpoint):
        self.library = ctypes.CDLL(str(path))
        self.training = Training.in_dll(self.library, "onnx_aot_training")
        t = self.training
        assert (t.abi_version, t.struct_bytes) == (ABI_VERSION, ctypes.sizeof(Training)), "another binary interface"
        values, self.metadata = read_safetensors(checkpoint)
        self.names = [t.parameters[i].name.decode() for i in range(t.num_parameters)]
        self.kinds = [t.parameters[i].kind for i in range(t.num_parameters)]
        self.inputs = [t.inputs[i].decode() for i in range(t.num_inputs)]
        self.targets = self.inputs[t.num_inputs - t.num_targets:]
        self.slot_names = [t.slots[i].decode() for i in range(t.num_slots)]
        self.parameters = [values[name] for name in self.names]
        # Garbage: the first step of an accumulation overwrites them.
        self.gradients = [np.full_like(p, np.nan) for p in self.parameters]
        self.slots = [[np.zeros_like(p) for _ in self.slot_names] for p in self.parameters]
        self.updates = self.steps = 0
        self.message = None

    def __getitem__(self, name):
        return self.parameters[self.names.index(name)]

    def has(self, name):
        return bool(getattr(self.training, name).module)

    def arena_bytes(self, name):
        return getattr(self.training, name).module.contents.arena_bytes

    def run(self, name, feeds, scalars):
        """Runs a program; returns its outputs by role, those of the user as a list."""
        program = getattr(self.training, name)
        module = program.module.contents
        arrays, symbols = [], {}
        for i in range(module.num_inputs):
            info, binding = module.inputs[i], program.inputs[i]
            dtype = DTYPES[info.type]
            if binding.role == USER:
                array = np.asarray(feeds[self.inputs[binding.index]], dtype, order="C")
            elif binding.role == PARAMETER:
                array = self.parameters[binding.index]
            elif binding.role == GRADIENT:
                array = self.gradients[binding.index]
            elif binding.role == SLOT:
                array = self.slots[binding.index][binding.slot]
            else:
                array = np.array(scalars[binding.role], dtype)
            assert array.ndim == info.rank and array.dtype == dtype, info.name
            for axis, size in enumerate(array.shape):
                dim = info.dims[axis]
                assert dim == size if dim >= 0 else symbols.setdefault(-dim - 1, size) == size, (info.name, array.shape)
            arrays.append(array)
        values = (C.c_int64 * max(1, module.num_symbols))(*[symbols[i] for i in range(module.num_symbols)])
        dims = (C.c_int64 * max(1, sum(module.outputs[i].rank for i in range(module.num_outputs))))()
        arena_bytes = C.c_uint64()
        assert module.plan(values, dims, C.byref(arena_bytes)) == 0
        outputs, position = [], 0
        for i in range(module.num_outputs):
            info = module.outputs[i]
            outputs.append(np.empty(list(dims[position:position + info.rank]), DTYPES[info.type]))
            position += info.rank
        arena = aligned(arena_bytes.value)

        self.message = None

        def fail(user, message):
            self.message = message.decode()

        runtime = Runtime(fail=FAIL(fail))
        pointers = lambda items: (P * max(1, len(items)))(*[a.ctypes.data for a in items])
        status = module.run(C.byref(runtime), module.weights, values, pointers(arrays), pointers(outputs),
                            arena.ctypes.data)
        if status:
            raise RunFailed(self.message)
        result = {USER: {}}
        for i, output in enumerate(outputs):
            binding = program.outputs[i]
            if binding.role == USER:
                result[USER][module.outputs[i].name.decode()] = output
            else:
                result[binding.role] = output
        return result

    def train_step(self, feeds, accumulate=False, loss_scale=1.0, seed=0):
        result = self.run("train", feeds, {ACCUMULATE: accumulate, LOSS_SCALE: loss_scale, SEED: [seed, self.steps]})
        self.steps += 1
        return result[LOSS]

    def update_step(self, lr, gradient_scale=1.0):
        result = self.run("update", {}, {LEARNING_RATE: lr, STEP: self.updates + 1, GRADIENT_SCALE: gradient_scale})
        self.updates += bool(result[UPDATED])
        return result

    def fused_step(self, feeds, lr, seed=0):
        result = self.run("fused", feeds, {LEARNING_RATE: lr, STEP: self.updates + 1, SEED: [seed, self.steps]})
        self.updates += 1
        self.steps += 1
        return result[LOSS]

    def eval_step(self, feeds):
        return self.run("eval", feeds, {})

    def infer(self, feeds):
        return self.run("infer", feeds, {})[USER]

    def model(self):
        """The bytes of the model that the module keeps."""
        return ctypes.string_at(self.training.model, self.training.model_bytes)
