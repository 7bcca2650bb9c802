"""Compares the file of a model of Keras with Keras."""

from __future__ import annotations

import os
import tempfile
import typing

import numpy as np

from ._keras_model import call, list_of, other_values
from ._library import InvalidArgument, warn

if typing.TYPE_CHECKING:
    import keras
    import onnx

#: Loss and gradients may be apart by this part, with sums in another order.
_APART = 1e-2
#: Samples of the comparison.
_SAMPLES = 4


def origins(graph: onnx.GraphProto, output: str) -> set[str]:
    """Returns all names that an output is computed from."""
    outputs = [each.name for each in graph.output]
    if output not in outputs:
        raise InvalidArgument(f"there is no output '{output}'; there are "
                              f"{list_of(outputs)}")
    makers = {name: node for node in graph.node for name in node.output}
    found, open_names = set(), [output]
    while open_names:
        name = open_names.pop()
        if name not in found:
            found.add(name)
            if name in makers:
                open_names += _reads(makers[name])
    return found


def _reads(node: onnx.NodeProto) -> list[str]:
    """Returns what the node reads, and what its bodies do."""
    return [*node.input, *(name for attribute in node.attribute
                           for each in attribute.g.node
                           for name in _reads(each))]


def compare_with_keras(model: keras.Model, weights: list[keras.Variable],
                       path: str | os.PathLike, graph: onnx.GraphProto,
                       training: bool) -> None:
    """Warns where loss or gradients of the file, which has the graph, are not
    Keras's, by a mean of squares for each output."""
    from onnx import TensorProto
    try:
        batch = _made_up(model)
    except ValueError as error:
        warn(f"the file was not compared with Keras: {error}")
        return
    outputs = [each.name for each in graph.output
               if each.type.tensor_type.elem_type == TensorProto.FLOAT]
    for index, name in enumerate(outputs):
        reached = origins(graph, name)
        used = [each for each in weights if each.path in reached]
        if not used:
            continue
        try:
            apart = _apart(model, used, path, batch, (index, name), training)
        except InvalidArgument as error:
            warn(f"the file was not compared with Keras: {error}")
            return
        if apart:
            warn(f"output '{name}' of the file differs from Keras's for made up "
                 f"samples: {list_of(apart)}. Gradients that Keras stops or "
                 "makes by itself flow in the file, and tf2onnx computes some "
                 "functions in another way")


def _made_up(model: keras.Model) -> dict[str, np.ndarray]:
    """Returns samples; numbers of classes and tokens are 0 and 1."""
    random = np.random.default_rng(1)
    batch = {}
    for each in model.inputs:
        if None in each.shape[1:]:
            raise ValueError(f"input '{each.name}' has dims of any size")
        shape = (_SAMPLES, *each.shape[1:])
        batch[each.name] = (
            random.normal(size=shape).astype(each.dtype)
            if "float" in each.dtype else
            random.integers(0, 2, shape).astype(each.dtype))
    return batch


def _apart(model: keras.Model, weights: list[keras.Variable],
           path: str | os.PathLike, batch: dict[str, np.ndarray],
           output: tuple[int, str], training: bool) -> list[str]:
    """Returns what differs: the loss, or the weights of other gradients.
    `output`: its number among those of floats, and its name."""
    import tensorflow as tf
    from . import Trainer, compile
    index, name = output
    given = [tf.constant(batch[each.name]) for each in model.inputs]
    with other_values(model, [], []), tf.GradientTape() as tape:
        results = tf.nest.flatten(call(model, given, training))
        result = [each for each in results if each.dtype == tf.float32][index]
        labels = np.random.default_rng(2).normal(
            size=result.shape).astype(np.float32)
        loss = tf.reduce_mean((result - labels) ** 2)
    gradients = tape.gradient(loss, [each.value for each in weights])
    batch = {**batch, "labels": labels}
    plan = compile(path, example=batch, loss="mse", loss_on=name,
                   train=[each.path for each in weights], optimizer="sgd")
    with Trainer(plan) as trainer, tempfile.TemporaryDirectory() as folder:
        mine = float(trainer.step(batch, lr=1.0))
        trainer.save_weights(os.path.join(folder, "w.safetensors"))
        from safetensors.numpy import load_file
        after = load_file(os.path.join(folder, "w.safetensors"))
    if not np.isclose(mine, float(loss), rtol=_APART):
        return [f"loss {mine:.6g} in place of {float(loss):.6g}"]
    wanted = [np.zeros(each.shape) if gradient is None else
              np.asarray(tf.convert_to_tensor(gradient))
              for each, gradient in zip(weights, gradients)]
    most = [float(np.abs(each).max()) for each in wanted]
    return [f"gradient of {each.path}"
            for each, theirs, own in zip(weights, wanted, most)
            if np.abs(np.asarray(each) - after[each.path] - theirs).max() >
            _APART * max(own, _APART * max(most))]
