"""Compares the file of a model of Keras with Keras."""

from __future__ import annotations

import os
import tempfile
import typing

import numpy as np

from ._keras_model import call, list_of, other_values, trained_weights
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


def compare_with_keras(model: keras.Model, path: str | os.PathLike, training: bool
             ) -> None:
    """Warns where the file's loss or gradients are not Keras's, by a mean of
    squares for each output."""
    try:
        batch = _made_up(model)
    except ValueError as error:
        warn(f"the file was not compared with Keras: {error}")
        return
    for name in _float_outputs(path):
        try:
            apart = _apart(model, path, batch, name, training)
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


def _graph(path: str | os.PathLike) -> onnx.GraphProto:
    import onnx
    return onnx.load(os.fspath(path)).graph


def _float_outputs(path: str | os.PathLike) -> list[str]:
    from onnx import TensorProto
    return [each.name for each in _graph(path).output
            if each.type.tensor_type.elem_type == TensorProto.FLOAT]


def _apart(model: keras.Model, path: str | os.PathLike,
           batch: dict[str, np.ndarray], output: str, training: bool
           ) -> list[str]:
    """Returns what differs: the loss, or the weights of other gradients."""
    import tensorflow as tf
    from . import Trainer, compile
    index = _float_outputs(path).index(output)
    given = [tf.constant(batch[each.name]) for each in model.inputs]
    weights = trained_weights(model)
    with other_values(model, [], []):
        with tf.GradientTape() as tape:
            results = tf.nest.flatten(call(model, given, training))
            result = [each for each in results if each.dtype == tf.float32][index]
            labels = np.random.default_rng(2).normal(
                size=result.shape).astype(np.float32)
            loss = tf.reduce_mean((result - labels) ** 2)
        gradients = {each.path: gradient for each, gradient in zip(
            weights, tape.gradient(loss, [each.value for each in weights]))}
    used = sorted(gradients.keys() & origins(_graph(path), output))
    if not used:
        return []
    plan = compile(path, example={**batch, "labels": labels}, loss="mse",
                   loss_on=output, train=used, optimizer="sgd")
    with Trainer(plan) as trainer, tempfile.TemporaryDirectory() as folder:
        mine = float(trainer.step({**batch, "labels": labels}, lr=1.0))
        trainer.save_weights(os.path.join(folder, "w.safetensors"))
        from safetensors.numpy import load_file
        after = load_file(os.path.join(folder, "w.safetensors"))
    if not np.isclose(mine, float(loss), rtol=_APART):
        return [f"loss {mine:.6g} in place of {float(loss):.6g}"]
    before = {each.path: np.asarray(each) for each in weights}
    wanted = {name: np.zeros(before[name].shape) if gradients[name] is None
              else np.asarray(tf.convert_to_tensor(gradients[name]))
              for name in used}
    most = max(float(np.abs(each).max()) for each in wanted.values())
    return [f"gradient of {name}" for name in used
            if np.abs(before[name] - after[name] - wanted[name]).max() >
            _APART * max(float(np.abs(wanted[name]).max()), _APART * most)]
