"""Models of Keras, as an export needs them."""

from __future__ import annotations

import contextlib
import typing
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from ._library import InvalidArgument

if typing.TYPE_CHECKING:
    import keras


def list_of(names: Iterable[str]) -> str:
    """Returns the first names, and how many more there are."""
    names = list(names)
    return ", ".join(names[:8]) + (
        f" and {len(names) - 8} more" if len(names) > 8 else "")


def trained_weights(model: keras.Model) -> list[keras.Variable]:
    """Returns the weights that Keras trains."""
    import keras
    if not isinstance(model, keras.Model):
        raise InvalidArgument(f"expected a keras.Model, found {type(model)}")
    if keras.backend.backend() != "tensorflow":
        raise InvalidArgument(f"Keras runs on {keras.backend.backend()}, tf2onnx "
                              "takes models of TensorFlow: set "
                              "KERAS_BACKEND=tensorflow")
    if not getattr(model, "inputs", None):
        raise InvalidArgument(
            "the model says nothing of its inputs: give it keras.Input as its "
            "first layer, or export keras.Model(x, model(x)) with "
            "x = keras.Input(shape)")
    for layer in model._flatten_layers():
        if "float" in layer.compute_dtype and layer.compute_dtype != "float32":
            raise InvalidArgument(
                f"layer '{layer.path}' computes in {layer.compute_dtype}, "
                "expected float32: export the model with that policy; "
                "precision=\"bf16\" or \"fp16\" of zg.compile trains it in 16 "
                "bits")
    trained = list({id(each): each for each in model.trainable_weights}.values())
    paths = [each.path for each in trained]
    twice = sorted({path for path in paths if paths.count(path) > 1})
    if twice:
        raise InvalidArgument(f"several weights are called {list_of(twice)}: "
                              "give them or their layers names of their own")
    if not trained:
        raise InvalidArgument("the model has no weight that is trained: set "
                              "trainable=True for a layer")
    return trained


@contextlib.contextmanager
def other_values(model: keras.Model, weights: list[keras.Variable],
                 values: list[np.ndarray]) -> Iterator[None]:
    """Gives the weights other values; all of the model is afterwards as it
    was."""
    variables = list(model.variables)
    kept = [np.asarray(each) for each in variables]
    try:
        for weight, value in zip(weights, values):
            weight.assign(value)
        yield
    finally:
        for variable, value in zip(variables, kept):
            variable.assign(value)


def call(model: keras.Model, inputs: Sequence, training: bool) -> Any:
    """Returns the model's outputs for tensors in the order of its inputs."""
    import tensorflow as tf
    structure = getattr(model, "_inputs_struct", None)
    if structure is not None:
        return model(tf.nest.pack_sequence_as(structure, list(inputs)),
                     training=training)
    return model(inputs[0] if len(inputs) == 1 else list(inputs),
                 training=training)
