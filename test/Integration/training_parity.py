#!/usr/bin/env python3
"""Train an MLP, LeNet, ResNet-18 and a small GPT for 50 steps beside a reference in float64, with every optimizer and clipping.

usage: training_parity.py [--build DIR] [--filter RE] [--sample] [--jobs N] [--verbose] [-- FLAG...]

A loss may differ from the reference by 1e-5 of its size, or by 20 times what the reference in float32 has differed so far, where
rounding is amplified: that of ResNet-18 on random labels grows a hundred thousand times in 30 steps, with either sign. --sample takes a few cases of each model, such that all optimizers and kinds of clipping are seen once.
"""
import argparse
import fnmatch
import multiprocessing
import pathlib
import re
import sys
import tempfile

import numpy as np

import training  # first: it says where the others are
import harness
import training_models as models
import training_module as tm
import training_reference as ref
from graph_reference import Reference

TESTS = {}
STEPS = 50
LOSSES = {"gpt_small": "cross-entropy:class_axis=-1"}


def cross_entropy(scores, labels):
    """Mean loss and its gradient; classes are the last axis."""
    rows, own = scores.reshape(-1, scores.shape[-1]), labels.ravel()
    value, gradient = ref.cross_entropy_gradient(rows, own)
    return value, gradient.reshape(scores.shape)


class Run:
    """How a training is done, for both sides."""

    def __init__(self, model, optimizer, norm=None, value=None, accumulate=1, mean=True, scale=1.0, no_decay=None, bad=()):
        self.model, self.optimizer, self.norm, self.value = model, optimizer, norm, value
        self.accumulate, self.mean, self.scale, self.no_decay, self.bad = accumulate, mean, scale, no_decay, bad
        self.step, self.lr = training.OPTIMIZERS[optimizer]
        if no_decay:
            name = optimizer.split(":")[0]
            self.plain = {"adamw": ref.adam(), "lamb": ref.lamb(weight_decay=0), "sgd": ref.sgd(0.9, 0, 0, True)}[name]

    def flags(self):
        yield f"--loss={LOSSES.get(self.model, 'cross-entropy')}"
        yield f"--optimizer={self.optimizer}"
        if self.norm:
            yield f"--clip-norm={self.norm}"
        if self.value:
            yield f"--clip-value={self.value}"
        if self.no_decay:
            yield f"--no-decay={self.no_decay}"

    def data(self, model, steps):
        batches = list(models.batches(self.model, model, steps * self.accumulate))
        for index in self.bad:
            batches[index]["x"] = np.full_like(batches[index]["x"], np.inf)
        return [batches[i:i + self.accumulate] for i in range(0, len(batches), self.accumulate)]


def train_reference(run, model, dtype, steps):
    """Losses of all batches and the parameters at the end."""
    reference, states, losses, t = Reference(model.graph, dtype), {}, [], 0
    output = model.graph.output[0].name
    for group in run.data(model, steps):
        total = {}
        for batch in group:
            feeds = {k: v for k, v in batch.items() if k != "labels"}
            with np.errstate(all="ignore"):
                values = reference.forward(feeds)
                loss, seed = cross_entropy(values[output], batch["labels"])
                gradients = reference.backward({output: seed})
            losses.append(loss)
            for name in reference.values:
                if name in gradients:
                    total[name] = total.get(name, 0) + gradients[name]
            for node in model.graph.node:  # running statistics
                if node.op_type == "BatchNormalization":
                    reference.values.update(zip(node.input[3:], (values[n] for n in node.output[1:])))
        if not all(np.isfinite(g).all() for g in total.values()):
            continue
        if run.mean:
            total = {name: g / dtype(run.accumulate) for name, g in total.items()}
        ref.clip(total, run.norm, run.value)
        t += 1
        for name, gradient in total.items():
            step = run.plain if run.no_decay and fnmatch.fnmatch(name, run.no_decay) else run.step
            reference.values[name] = step(reference.values[name], gradient, states.setdefault(name, {}), dtype(run.lr), t)
    return np.array(losses, np.float64), reference.values


def check(run, context, steps=STEPS):
    model = models.MODELS[run.model]()
    exact, final = train_reference(run, model, np.float64, steps)
    single, rounded = train_reference(run, model, np.float32, steps)
    apart = np.maximum.accumulate(np.nan_to_num(abs(single - exact)))
    tolerance = np.maximum(1e-5 * abs(exact), 20 * apart)
    module = context.compile(model, *run.flags())
    separate = run.accumulate > 1 or run.scale != 1 or run.bad or not module.has("fused")
    losses = []
    for index, group in enumerate(run.data(model, steps)):
        for i, batch in enumerate(group):
            if separate:
                losses.append(module.train_step(batch, accumulate=i > 0, loss_scale=run.scale))
            else:
                losses.append(module.fused_step(batch, run.lr))
        if separate:
            scale = 1 / run.scale / (run.accumulate if run.mean else 1)
            assert bool(module.update_step(run.lr, gradient_scale=scale)[tm.UPDATED]) == (index not in run.bad)
    good = np.isfinite(exact)
    wrong = abs(np.array(losses, np.float64) - exact)[good] > tolerance[good]
    assert good.sum() + len(run.bad) == len(exact) and not wrong.any(), (
        f"step {wrong.argmax()}: {np.array(losses)[good][wrong.argmax()]} is not {exact[good][wrong.argmax()]} "
        f"+- {tolerance[good][wrong.argmax()]}")
    for name in module.names:
        far, allowed = abs(module[name] - final[name]).max(), abs(rounded[name] - final[name]).max()
        assert far <= max(2e-3 * max(1, abs(final[name]).max()), 20 * allowed), f"{name} is {far} off, float32 {allowed}"


CLIPPING = {"": {}, "/clip-norm": {"norm": 0.5}, "/clip-value": {"value": 0.01}, "/both": {"norm": 0.5, "value": 0.01}}


def add_tests():
    for number, model in enumerate(models.MODELS):
        for index, optimizer in enumerate(training.OPTIMIZERS):
            # On the small model with every kind of clipping, else each with one, another for each model.
            kinds = CLIPPING if model == "mlp" else [list(CLIPPING)[(index + number) % len(CLIPPING)]]
            for kind in kinds:
                TESTS[f"{model}/{optimizer}{kind}"] = Run(model, optimizer, **CLIPPING[kind])
        TESTS[f"{model}/accumulate mean"] = Run(model, "adamw", accumulate=3)
        TESTS[f"{model}/accumulate sum"] = Run(model, "sgd", accumulate=2, mean=False)
        TESTS[f"{model}/accumulate, clip-norm, loss scale"] = Run(model, "adam", accumulate=2, norm=0.5, scale=1024.0)
        TESTS[f"{model}/groups"] = Run(model, "lamb:weight_decay=0.01", no_decay="*.bias")
        TESTS[f"{model}/groups sgd"] = Run(model, "sgd:momentum=0.9,nesterov=true,weight_decay=0.01", no_decay="*.bias")
    TESTS["lenet/non-finite steps"] = Run("lenet", "adamw", scale=65536.0, bad=(3, 4, 17))


def sample():
    """Every optimizer on the small model, and a case of each of the others."""
    kinds = list(CLIPPING)
    names = [f"mlp/{optimizer}{kinds[i % len(kinds)]}" for i, optimizer in enumerate(training.OPTIMIZERS)]
    for model, wanted in (("lenet", "adam"), ("resnet18", "sgd:momentum=0.9"), ("gpt_small", "adamw")):
        names += [name for name in TESTS if re.fullmatch(f"{model}/{wanted}(/.*)?", name)]
    return names + ["mlp/accumulate, clip-norm, loss scale", "mlp/groups"]


def run_one(job):
    """The name of a case and why it failed, if it did."""
    name, options = job
    with tempfile.TemporaryDirectory() as folder:
        try:
            check(TESTS[name], training.Context(options, pathlib.Path(folder)))
            return name, None
        except Exception as error:  # noqa: BLE001 - a failed test is told, the others go on
            return name, f"{type(error).__name__}: {str(error)[:1500]}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    harness.add_build_argument(parser)
    parser.add_argument("--filter", default="", help="only cases whose name this expression finds")
    parser.add_argument("--sample", action="store_true", help="few cases")
    parser.add_argument("--jobs", type=int, default=2, help="cases at a time")
    parser.add_argument("--verbose", action="store_true", help="name the cases that pass, too")
    options = harness.parse_arguments(parser)
    add_tests()
    names = [name for name in (sample() if options.sample else TESTS) if re.search(options.filter, name)]
    passed = failed = 0
    with multiprocessing.Pool(options.jobs) as pool:
        for name, error in pool.imap_unordered(run_one, [(name, options) for name in names]):
            passed, failed = passed + (error is None), failed + (error is not None)
            if error or options.verbose:
                print(f"FAILED {name}: {error}" if error else f"ok     {name}", flush=True)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
