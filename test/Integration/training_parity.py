#!/usr/bin/env python3
"""Train an MLP, LeNet, ResNet-18 and a small GPT for 50 steps beside a reference in float64, with every optimizer and clipping.

usage: training_parity.py [--build DIR] [--filter RE] [--sample] [--jobs N] [--verbose] [-- FLAG...]

Twice: from the module's own parameters, step by step, where each loss, gradient and update has to be right; and from the first
parameters to the end, where a loss may differ from the reference by 1e-5 of its size, or by 20 times what rounding has done so far.
That is what the reference in float32 has differed, or those whose gradients carry noise of that size: the loss of ResNet-18 on random
labels grows apart a hundred thousand times in 30 steps. Where the maximum of a pool turns over by rounding, the second ends. --sample takes a few cases of each model, such that all optimizers and kinds of clipping are seen once.
"""
import argparse
import fnmatch
import itertools
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
TURNS = 8  # steps in which the largest of a pool, or the sign under a Relu, may turn over by rounding
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

    def separate(self, module):
        """Whether gradients are seen between training and update."""
        return self.accumulate > 1 or self.scale != 1 or self.bad or not module.has("fused")

    def update(self, module):
        scale = 1 / self.scale / (self.accumulate if self.mean else 1)
        return bool(module.update_step(self.lr, gradient_scale=scale)[tm.UPDATED])

    def data(self, model, steps):
        batches = list(models.batches(self.model, model, steps * self.accumulate))
        for index in self.bad:
            batches[index]["x"] = np.full_like(batches[index]["x"], np.inf)
        return [batches[i:i + self.accumulate] for i in range(0, len(batches), self.accumulate)]


def gradients_of(run, reference, group):
    """Losses of the batches of one update, and the gradient of each parameter before clipping."""
    losses, total, output = [], {}, reference.graph.output[0].name
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
        for node in reference.graph.node:  # running statistics
            if node.op_type == "BatchNormalization":
                reference.values.update(zip(node.input[3:], (values[n] for n in node.output[1:])))
    return losses, total


def update(run, values, total, states, t, dtype):
    """The parameters after one update."""
    if run.mean:
        total = {name: g / dtype(run.accumulate) for name, g in total.items()}
    ref.clip(total, run.norm, run.value)
    for name, gradient in total.items():
        step = run.plain if run.no_decay and fnmatch.fnmatch(name, run.no_decay) else run.step
        values[name] = step(values[name], gradient, states.setdefault(name, {}), dtype(run.lr), t)


def train_reference(run, model, dtype, steps, noise=None, seed=0):
    """Losses of all batches and the parameters at the end; `noise` is the deviation of each gradient's."""
    reference, states, losses, t = Reference(model.graph, dtype), {}, [], 0
    rng = np.random.default_rng(seed)
    for group in run.data(model, steps):
        some, total = gradients_of(run, reference, group)
        losses += some
        if not all(np.isfinite(g).all() for g in total.values()):
            continue
        if noise:
            total = {name: g + noise[name] * rng.standard_normal(g.shape) for name, g in total.items()}
        t += 1
        update(run, reference.values, total, states, t, dtype)
    return np.array(losses, np.float64), reference.values


def measure_rounding(run, model):
    """The deviation of float32 gradients from those in float64, by parameter."""
    group = run.data(model, 1)[0]
    exact, single = (gradients_of(run, Reference(model.graph, dtype), group)[1] for dtype in (np.float64, np.float32))
    return {name: np.sqrt(np.mean((exact[name] - single[name])**2)) for name in exact}


def check_course(run, module, model, steps, end):
    """All steps from the first parameters on; losses before step `end`."""
    exact, final = train_reference(run, model, np.float64, steps)
    single, rounded = train_reference(run, model, np.float32, steps)
    noise = measure_rounding(run, model)
    noisy = [train_reference(run, model, np.float64, steps, noise, seed)[0] for seed in range(3)]
    apart = np.maximum.accumulate(np.nan_to_num(np.max([abs(other - exact) for other in (single, *noisy)], axis=0)))
    tolerance = np.maximum(1e-5 * abs(exact), 20 * apart)
    losses = []
    for index, group in enumerate(run.data(model, steps)):
        if run.separate(module):
            losses += [module.train_step(b, accumulate=i > 0, loss_scale=run.scale) for i, b in enumerate(group)]
            assert run.update(module) == (index not in run.bad)
        else:
            losses.append(module.fused_step(group[0], run.lr))
    good = np.isfinite(exact) & (np.arange(len(exact)) < end * run.accumulate)
    wrong = abs(np.array(losses, np.float64) - exact)[good] > tolerance[good]
    assert np.isfinite(exact).sum() + len(run.bad) == len(exact) and not wrong.any(), (
        f"step {wrong.argmax()}: {np.array(losses)[good][wrong.argmax()]} is not {exact[good][wrong.argmax()]} "
        f"+- {tolerance[good][wrong.argmax()]}")
    for name in module.names if end >= steps else ():
        far, allowed = abs(module[name] - final[name]).max(), abs(rounded[name] - final[name]).max()
        assert far <= max(2e-3 * max(1, abs(final[name]).max()), 20 * allowed), f"{name} is {far} off, float32 {allowed}"


def check_steps(run, module, model, steps):
    """Each step from where the module is; the first one after a turn-over."""
    exact, single = Reference(model.graph, np.float64), Reference(model.graph, np.float32)
    states, t, turns = {}, 0, []
    for index, group in enumerate(run.data(model, steps)):
        for name in module.names:
            exact.values[name], single.values[name] = module[name].astype(np.float64), module[name].copy()
        losses, total = gradients_of(run, exact, group)
        twin, rounded = gradients_of(run, single, group)
        ours = [module.train_step(b, accumulate=i > 0, loss_scale=run.scale) for i, b in enumerate(group)]
        if index in run.bad:
            assert not run.update(module)
            continue
        for got, want, other in zip(ours, losses, twin):
            assert abs(got - want) <= max(1e-5 * abs(want), 20 * abs(other - want)), f"step {index}: loss {got}, not {want}"
        own = {name: module.gradients[module.names.index(name)] / np.float64(run.scale) for name in total}
        norm = np.sqrt(sum((g**2).sum() for g in total.values()))
        far, allowed = (max(abs(other[n] - g).max() for n, g in total.items()) / norm for other in (own, rounded))
        if max(far, allowed) > 1e-4:
            turns.append(index + 1)
        else:
            assert far <= max(1e-5, 20 * allowed), f"step {index}: the gradient is {far} of its norm off, float32's {allowed}"
        assert len(turns) <= TURNS, f"the gradients of the steps before {turns} are wrong"
        t += 1
        before = {name: module[name].astype(np.float64) for name in own}
        after = dict(before)
        update(run, after, own, states, t, np.float64)
        assert run.update(module)
        for name, want in after.items():
            scale = max(abs(want).max(), abs(want - before[name]).max())
            assert abs(module[name] - want).max() <= 1e-5 * scale, f"step {index}: {name} is updated wrongly"
    return turns[0] if turns else steps


def check(run, context, steps=STEPS):
    model = models.MODELS[run.model]()
    module = context.compile(model, *run.flags())
    first = [p.copy() for p in module.parameters]
    end = check_steps(run, module, model, steps)
    for array, value in zip(module.parameters, first):
        array[...] = value
    for slot in itertools.chain.from_iterable(module.slots):
        slot[...] = 0
    module.updates = module.steps = 0
    check_course(run, module, model, steps, end)


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
