#!/usr/bin/env python3
"""Train with memory budgets: what is kept, to the byte, that no bit of the results changes, and what a report says of memory.

usage: training_memory.py [--build DIR] [--filter RE] [--verbose] [-- FLAG...]
"""
import json
import sys

import numpy as np

import training
import training_models as models
from training import check_refusal, collect_in, model_of

TESTS = {}
test = collect_in(TESTS)


@test("sparse/arena")
def sparse_arena(context):
    """What backward does not need is not kept: the last layers, low-rank updates above, biases."""
    model = models.lenet()
    bytes_of = {flags: context.compile(model, "--loss=cross-entropy", "--optimizer=sgd", *flags).arena_bytes("train")
                for flags in ((), ("--trainable=fc*",), ("--lora=4:targets=fc2*",), ("--trainable=*.bias",))}
    all_of_it = bytes_of[()]
    assert bytes_of[("--trainable=fc*",)] < 0.6 * all_of_it, bytes_of
    assert bytes_of[("--lora=4:targets=fc2*",)] < 0.6 * all_of_it, bytes_of
    assert bytes_of[("--trainable=*.bias",)] < all_of_it, bytes_of


def report_of(context, model, *flags):
    """Compiles; returns the module and what --report says of training."""
    report = context.folder / f"report{context.number}.json"
    module = context.compile(model, f"--report={report}", *flags)
    return module, json.loads(report.read_text())["training"]


def check_budget(context, name, loss, optimizer, fractions, steps=3, flags=(), program="fused", **sizes):
    """A budget is kept, to the byte that the module states, and changes no bit."""
    model = models.MODELS[name](**sizes)
    flags = [f"--loss={loss}", f"--optimizer={optimizer}", *flags]
    module, report = report_of(context, model, *flags)
    state = report["parameter_bytes"] + report["slot_bytes"]
    natural = {p["name"]: p["arena_bytes"] for p in report["programs"]}

    def train(module):
        losses = []
        for feeds in models.batches(name, model, steps):
            if program == "fused":
                losses.append(module.fused_step(feeds, 0.01))
            else:
                losses.append(module.train_step(feeds))
                module.update_step(0.01)
        return losses, module.parameters
    losses, parameters = train(module)
    for fraction in fractions:
        # Of what the step that needs most has without a budget.
        gradients = report["gradient_bytes"]
        budget = state + int(fraction * max(natural["train"] + gradients, natural["fused"]))
        other, described = report_of(context, model, f"--memory-budget={budget}", *flags)
        for entry in described["programs"]:
            own = state + (gradients if entry["name"] in ("train", "optimizer") else 0)
            assert own + entry["arena_bytes"] <= budget, (entry["name"], entry["arena_bytes"], budget)
            attribute = "update" if entry["name"] == "optimizer" else entry["name"]
            assert entry["arena_bytes"] == other.arena_bytes(attribute)
        changed = [e for e in described["programs"] if e["memory"]["repeated_steps"]]
        assert changed, "nothing had to be recomputed"
        again, values = train(other)
        assert losses == again, (losses, again)
        assert all((a == b).all() for a, b in zip(parameters, values))


@test("lenet")
def budget_lenet(context):
    check_budget(context, "lenet", "cross-entropy", "adamw", (0.95,))
    check_budget(context, "lenet", "cross-entropy", "sgd", (0.95,), program="train")


@test("resnet18")
def budget_resnet(context):
    check_budget(context, "resnet18", "cross-entropy", "sgd:momentum=0.9", (0.65,), batch=16)


@test("gpt_small")
def budget_gpt(context):
    check_budget(context, "gpt_small", "cross-entropy:class_axis=-1", "adamw", (0.5,))


@test("timeline")
def timeline(context):
    """--report says what is alive when; the peak is what the arena is for."""
    module, report = report_of(context, models.lenet(), "--loss=cross-entropy", "--optimizer=sgd")
    for program in report["programs"]:
        memory = program["memory"]
        steps = [step["live_bytes"] for step in memory["steps"]]
        assert max(steps) == memory["peak_live_bytes"] <= program["arena_bytes"] <= 1.5 * max(steps) + 4096
        live = [0] * len(steps)
        for b in memory["buffers"]:
            assert 0 <= b["first"] <= b["last"] < len(steps) and b["offset"] + b["bytes"] <= program["arena_bytes"]
            for other in memory["buffers"]:
                apart = b["offset"] + b["bytes"] <= other["offset"] or other["offset"] + other["bytes"] <= b["offset"]
                assert b is other or apart or b["last"] < other["first"] or other["last"] < b["first"]
        assert any("conv" in step["node"] for step in memory["steps"]) or program["name"] == "optimizer"


@test("refused")
def budget_refused(context):
    """What cannot be kept is refused with what was reached; so is what is no size."""
    lenet = models.lenet()
    for flag, *texts in (("0", "no number of bytes"), ("12Q", "no number of bytes"), ("1K", "state alone"),
                         ("400K", "cannot be kept: at least", "however much is computed again")):
        check_refusal(context, ["--train", "--loss=cross-entropy", "--optimizer=sgd", f"--memory-budget={flag}"], *texts,
                      model=lenet)
    model = model_of([("MatMul", ["x", "w"], ["y"], {})], [("x", ("N", 3))], [("y", ("N", 2))], {"w": np.ones((3, 2), np.float32)})
    check_refusal(context, ["--train", "--loss=mse", "--memory-budget=1M"], "--dim", model=model)
    check_refusal(context, ["--memory-budget=1M"], "--memory-budget is for training", model=lenet)


if __name__ == "__main__":
    sys.exit(training.main(TESTS, __doc__))
