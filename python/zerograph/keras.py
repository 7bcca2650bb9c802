"""Models of Keras: exported by tf2onnx so that a training changes in the file
what it would change in Keras, and their weights loaded back.

    import zerograph as zg

    train = zg.keras.export(model, "model.onnx")
    plan = zg.compile("model.onnx", example=batch, loss="cross_entropy",
                      train=train)
    ...
    trainer.save_weights("trained.safetensors")
    zg.keras.load(model, "trained.safetensors")

tf2onnx and TensorFlow take variables for constants: they leave out a bias that
is 0 and a scale that is 1, join equal tensors, and permute and fold others. In
this file the trained weights are as Keras has them, of its names and shapes, and
nodes make what tf2onnx made of them.
"""

from __future__ import annotations

import collections
import logging
import os
import typing
from collections.abc import Mapping
from typing import Any

import numpy as np

from ._files import whole_file
from ._keras_compare import compare_with_keras, origins
from ._keras_model import call, list_of, other_values, trained_weights
from ._library import InvalidArgument, warn
from ._weight_places import Maker, Places, numbered, numbers

if typing.TYPE_CHECKING:
    import keras
    import onnx

#: Bytes of constants that a program holds; larger ones stay initializers.
_LARGE = 1 << 16


def export(model: keras.Model, path: str | os.PathLike, *,
           training: bool = False, output: str | None = None, opset: int = 18,
           compare: bool = True) -> list[str]:
    """Writes the model to `path`, with its weights; returns the names of those
    that Keras trains, for `train=`. Inputs and outputs have Keras's names;
    where there are several outputs, `output` is the one that a loss is of, and
    the names are of weights that it depends on.

    `training`: as a step of a training computes it, which a BatchNormalization
    that is trained needs. Its moving statistics are not in the file. Dropout is
    exported as one that is off, and not at all with `training=True`, as tf2onnx
    has no random numbers.

    Loss and gradients of the file are compared with Keras's for a few made up
    samples; a warning says where they differ. `compare=False` leaves that out.
    """
    from onnx import TensorProto, numpy_helper
    trained = trained_weights(model)
    values = [np.asarray(each) for each in trained]
    weights = numbered([each.path for each in trained],
                       [each.shape for each in trained])
    with other_values(model, trained, numbers(weights)):
        file = _to_onnx(model, training, opset)
    graph = file.graph
    graph.name = "keras"
    places, maker = Places(weights), Maker(weights)
    for initializer in [each for each in graph.initializer
                        if each.data_type == TensorProto.FLOAT]:
        array = numpy_helper.to_array(initializer)
        found = places.of(array)
        if found is not None:
            graph.initializer.remove(initializer)
            maker.make(initializer.name, *found)
        elif array.nbytes <= _LARGE:
            graph.initializer.remove(initializer)
            _add_constant(graph, initializer)
    _check_all(model, places.missing())
    for node in reversed(maker.nodes):
        graph.node.insert(0, node)
    for weight, value in zip(weights, values):
        _add_weight(graph, weight.name, value)
    _name_outputs(model, graph)
    for each in graph.output:
        _name_classes(each)
    names = {each.name for each in weights}
    if output is not None:
        names &= origins(graph, output)
    with whole_file(path) as temporary:
        with open(temporary, "wb") as out:
            out.write(file.SerializeToString())
    if compare:
        compare_with_keras(model, trained, path, graph, training)
    _warn_of_losses(model)
    return sorted(names)


def load(model: keras.Model, weights: str | os.PathLike | Mapping[str, Any]
         ) -> None:
    """Sets the model's weights to those that were trained: a file of
    `save_weights`, or arrays by the names of the file, which may have more. A
    name's first part, the model's own, may be another."""
    if not isinstance(weights, Mapping):
        from safetensors.numpy import load_file
        weights = load_file(os.fspath(weights))
    mine = {each.path: each for each in model.weights}
    ends = collections.Counter(path.partition("/")[2] for path in mine)
    # "kernel", of "layer/kernel", says too little.
    parts = {path.partition("/")[2]: each for path, each in mine.items()
             if path.count("/") > 1 and ends[path.partition("/")[2]] == 1}
    chosen = {}
    for name, array in weights.items():
        weight = mine.get(name, parts.get(name.partition("/")[2]))
        if weight is None:
            continue  # a constant of the model
        if tuple(weight.shape) != np.shape(array):
            raise InvalidArgument(
                f"'{name}' has shape {list(np.shape(array))}, expected "
                f"{list(weight.shape)}: is this the model that was exported?")
        chosen[weight.path] = (weight, array)
    for path in (each.path for each in model.trainable_weights):
        if path not in chosen:
            raise InvalidArgument(f"there are no values for '{path}'; there are "
                                  f"those of {list_of(weights)}")
    for weight, array in chosen.values():
        weight.assign(np.asarray(array, np.float32))


def _warn_of_losses(model: keras.Model) -> None:
    """Warns of what Keras adds to a loss or does after a step. Losses that
    layers add are known once the model was called."""
    if model.losses:
        warn("the file has none of the losses that layers of the model add, as "
             "those of regularizers: Keras trains with them")
    bound = [each.path for each in model.trainable_weights
             if getattr(each, "constraint", None)]
    if bound:
        warn(f"nothing keeps the constraints of {list_of(bound)}")


def _to_onnx(model: keras.Model, training: bool, opset: int
             ) -> onnx.ModelProto:
    import tensorflow as tf
    import tf2onnx
    signature = [tf.TensorSpec([None, *each.shape[1:]], each.dtype,
                               name=each.name) for each in model.inputs]

    def forward(*inputs):
        return call(model, inputs, training)

    # It calls operators unsupported that Zerograph takes.
    logger = logging.getLogger("tf2onnx")
    level = logger.level
    logger.setLevel(logging.CRITICAL)
    try:
        function = tf.function(forward, input_signature=signature)
        file = tf2onnx.convert.from_function(
            function, input_signature=signature, opset=opset)[0]
        _bind_captured(file.graph, function.get_concrete_function())
        return file
    finally:
        logger.setLevel(level)


def _bind_captured(graph: onnx.GraphProto, function) -> None:
    """Makes constants of inputs that are tensors which a layer has captured, as
    the mean of a Normalization."""
    captured = {inner.name: outer for outer, inner in function.graph.captures
                if outer.dtype.name != "resource"}
    for each in [each for each in graph.input if each.name in captured]:
        graph.input.remove(each)
        _add_weight(graph, each.name, np.asarray(captured[each.name]))


def _check_all(model: keras.Model, missing: list[str]) -> None:
    """Raises where a weight is not in the file: what was computed of it there
    does not follow it."""
    if not missing:
        return
    import keras
    norms = {each.path for layer in model._flatten_layers()
             if isinstance(layer, keras.layers.BatchNormalization)
             for each in layer.weights}
    advice = ("a BatchNormalization that is trained needs training=True, or "
              "trainable=False for itself and what it normalizes"
              if norms & set(missing) else
              "what is computed of weights alone is computed once, when the "
              "model is exported")
    raise InvalidArgument(f"the file has no tensor for {list_of(missing)}: "
                          f"unused, or folded into others; {advice}")


def _add_constant(graph: onnx.GraphProto, tensor: onnx.TensorProto) -> None:
    from onnx import helper
    graph.node.insert(0, helper.make_node("Constant", [], [tensor.name],
                                          value=tensor))


def _add_weight(graph: onnx.GraphProto, name: str, value: np.ndarray) -> None:
    from onnx import numpy_helper
    graph.initializer.append(numpy_helper.from_array(value, name))


def _name_classes(output: onnx.ValueInfoProto) -> None:
    """Calls the last of several dims of a sample's what it is in Keras."""
    dims = output.type.tensor_type.shape.dim
    if len(dims) > 2 and not dims[-1].dim_param:
        dims[-1].dim_param = "classes"


def _name_outputs(model: keras.Model, graph: onnx.GraphProto) -> None:
    """Calls outputs as Keras does, where these names are not taken."""
    from onnx import helper
    names = getattr(model, "output_names", [])
    taken = {each for node in graph.node for each in node.output} | {
        each.name for each in [*graph.input, *graph.initializer]}
    if len(set(names)) != len(graph.output) or taken & set(names):
        return
    for output, name in zip(graph.output, names):
        graph.node.append(helper.make_node("Identity", [output.name], [name]))
        output.name = name
