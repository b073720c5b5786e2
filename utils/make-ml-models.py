#!/usr/bin/env python3
"""Train scikit-learn, XGBoost and LightGBM models on their classic data sets and export them for test/Integration/ml.py.

usage: make-ml-models.py DIR

Writes DATA.npz with X, the whole data set, and for each model DATA-NAME.onnx and DATA-NAME.npz with what the library that
trained it says: label and prob, or value. Needs scikit-learn, skl2onnx, onnxmltools, xgboost and lightgbm, which nothing else here needs.
"""
import pathlib
import sys
import warnings

import lightgbm
import numpy as np
import onnxmltools
import xgboost
from onnxmltools.convert.common.data_types import FloatTensorType
from skl2onnx import to_onnx
from sklearn import datasets, ensemble, impute, linear_model, neighbors, pipeline, preprocessing, svm, tree

CLASSIFIERS = {
    "forest": lambda: ensemble.RandomForestClassifier(15, max_depth=8, random_state=0),
    "extra-trees": lambda: ensemble.ExtraTreesClassifier(5, max_depth=6, random_state=0),
    "boosting": lambda: ensemble.GradientBoostingClassifier(n_estimators=8, random_state=0),
    "tree": lambda: tree.DecisionTreeClassifier(random_state=0),
    "logistic": lambda: pipeline.make_pipeline(preprocessing.StandardScaler(), linear_model.LogisticRegression()),
    "svc": lambda: pipeline.make_pipeline(preprocessing.StandardScaler(), svm.SVC()),
    "svc-poly": lambda: pipeline.make_pipeline(preprocessing.MinMaxScaler(), svm.SVC(kernel="poly")),
    "svc-prob": lambda: pipeline.make_pipeline(preprocessing.StandardScaler(), svm.SVC(probability=True, random_state=0)),
    "knn": lambda: neighbors.KNeighborsClassifier(5),
    "normalized": lambda: pipeline.make_pipeline(impute.SimpleImputer(), preprocessing.Normalizer("l2"),
                                                 linear_model.RidgeClassifier()),
    "xgboost": lambda: xgboost.XGBClassifier(n_estimators=8, max_depth=4),
    "lightgbm": lambda: lightgbm.LGBMClassifier(n_estimators=8, num_leaves=12, verbose=-1),
}
REGRESSORS = {
    "forest": lambda: ensemble.RandomForestRegressor(10, max_depth=8, random_state=0),
    "boosting": lambda: ensemble.GradientBoostingRegressor(n_estimators=20, random_state=0),
    "linear": lambda: linear_model.LinearRegression(),
    "ridge": lambda: pipeline.make_pipeline(preprocessing.MinMaxScaler(), linear_model.Ridge()),
    "svr": lambda: svm.SVR(C=100),
    "knn": lambda: neighbors.KNeighborsRegressor(5),
    "xgboost": lambda: xgboost.XGBRegressor(n_estimators=10, max_depth=4),
    "lightgbm": lambda: lightgbm.LGBMRegressor(n_estimators=10, num_leaves=12, verbose=-1),
}


def export(model, x):
    """Returns the model as ONNX, with probabilities as a tensor."""
    if isinstance(model, (xgboost.XGBModel, lightgbm.LGBMModel)):
        kind = "xgboost" if isinstance(model, xgboost.XGBModel) else "lightgbm"
        options = {"zipmap": False} if kind == "lightgbm" and isinstance(model, lightgbm.LGBMClassifier) else {}
        inputs = [("X", FloatTensorType([None, x.shape[1]]))]
        return getattr(onnxmltools, f"convert_{kind}")(model, initial_types=inputs, target_opset=15, **options)
    last = model.steps[-1][1] if hasattr(model, "steps") else model
    return to_onnx(model, x[:1], options={id(last): {"zipmap": False}} if hasattr(last, "classes_") else None)


def make(folder, name, model, x, y):
    model.fit(x, y)
    values = {"label": model.predict(x).astype(np.int64)} if hasattr(model, "classes_") else {"value": model.predict(x)}
    if hasattr(model, "predict_proba") and hasattr(model, "classes_"):
        values["prob"] = model.predict_proba(x)
    (folder / f"{name}.onnx").write_bytes(export(model, x).SerializeToString())
    np.savez_compressed(folder / f"{name}.npz", **values)
    print(f"{name}: {(folder / f'{name}.onnx').stat().st_size >> 10} KB")


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    warnings.filterwarnings("ignore")
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for data in ("iris", "digits", "breast_cancer"):
        x, y = getattr(datasets, f"load_{data}")(return_X_y=True)
        np.savez_compressed(folder / f"{data}.npz", X=x.astype(np.float32))
        for name, build in CLASSIFIERS.items():
            make(folder, f"{data}-{name}", build(), x.astype(np.float32), y)
    x, y = datasets.load_diabetes(return_X_y=True)
    np.savez_compressed(folder / "diabetes.npz", X=x.astype(np.float32))
    for name, build in REGRESSORS.items():
        make(folder, f"diabetes-{name}", build(), x.astype(np.float32), y)


if __name__ == "__main__":
    main()
