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

import contextlib
import logging
import os
import tempfile
import typing
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from ._files import whole_file
from ._library import InvalidArgument, warn
from ._weight_places import Maker, Places, numbered, numbers

if typing.TYPE_CHECKING:
    import keras
    import onnx

#: Loss and gradients may be apart by this part, with sums in another order.
_APART = 1e-2
#: Bytes of constants that a program holds; larger ones stay initializers.
_LARGE = 1 << 16
#: Samples of the comparison.
_SAMPLES = 4


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
    trained = _trained(model)
    values = [np.asarray(each) for each in trained]
    weights = numbered([each.path for each in trained],
                       [each.shape for each in trained])
    with _values(model, trained, numbers(weights)):
        file = _to_onnx(model, training, opset)
    graph = file.graph
    graph.name = "keras"
    places, maker = Places(weights), Maker(weights)
    for initializer in [each for each in graph.initializer
                        if each.data_type == 1]:
        array = _array(initializer)
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
    names = {each.name for each in weights}
    if output is not None:
        names &= _origins(graph, output)
    with whole_file(path) as temporary:
        with open(temporary, "wb") as out:
            out.write(file.SerializeToString())
    if compare:
        _compare(model, path, training)
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
    parts = {path.partition("/")[2]: each for path, each in mine.items()}
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
                                  f"those of {_list(weights)}")
    for weight, array in chosen.values():
        weight.assign(np.asarray(array, np.float32))


def _list(names) -> str:
    names = list(names)
    return ", ".join(names[:8]) + (
        f" and {len(names) - 8} more" if len(names) > 8 else "")


def _trained(model: keras.Model) -> list[keras.Variable]:
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
    if not trained:
        raise InvalidArgument("the model has no weight that is trained: set "
                              "trainable=True for a layer")
    return trained


def _warn_of_losses(model: keras.Model) -> None:
    """Warns of what Keras adds to a loss or does after a step. Losses that
    layers add are known once the model was called."""
    if model.losses:
        warn("the file has none of the losses that layers of the model add, as "
             "those of regularizers: Keras trains with them")
    bound = [each.path for each in model.trainable_weights
             if getattr(each, "constraint", None)]
    if bound:
        warn(f"nothing keeps the constraints of {_list(bound)}")


@contextlib.contextmanager
def _values(model: keras.Model, weights: list[keras.Variable],
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


def _to_onnx(model: keras.Model, training: bool, opset: int
             ) -> onnx.ModelProto:
    import tensorflow as tf
    import tf2onnx
    signature = [tf.TensorSpec([None, *each.shape[1:]], each.dtype,
                               name=each.name) for each in model.inputs]
    structure = getattr(model, "_inputs_struct", None)

    def forward(*inputs):
        given = (tf.nest.pack_sequence_as(structure, inputs)
                 if structure is not None else
                 inputs[0] if len(inputs) == 1 else list(inputs))
        return model(given, training=training)

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
    raise InvalidArgument(f"the file has no tensor for {_list(missing)}: unused, "
                          f"or folded into others; {advice}")


def _array(initializer: onnx.TensorProto) -> np.ndarray:
    from onnx import numpy_helper
    return np.array(numpy_helper.to_array(initializer))


def _add_constant(graph: onnx.GraphProto, tensor: onnx.TensorProto) -> None:
    from onnx import helper
    graph.node.insert(0, helper.make_node("Constant", [], [tensor.name],
                                          value=tensor))


def _add_weight(graph: onnx.GraphProto, name: str, value: np.ndarray) -> None:
    from onnx import numpy_helper
    graph.initializer.append(numpy_helper.from_array(value, name))


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


def _origins(graph: onnx.GraphProto, output: str) -> set[str]:
    """Returns all names that an output is computed from."""
    outputs = [each.name for each in graph.output]
    if output not in outputs:
        raise InvalidArgument(f"there is no output '{output}'; there are "
                              f"{_list(outputs)}")
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


def _compare(model: keras.Model, path: str | os.PathLike, training: bool
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
                 f"samples: {_list(apart)}. Gradients that Keras stops or makes "
                 "by itself flow in the file, and tf2onnx computes some "
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
    structure = getattr(model, "_inputs_struct", None)
    weights = _trained(model)
    with _values(model, [], []):
        with tf.GradientTape() as tape:
            results = tf.nest.flatten(model(
                tf.nest.pack_sequence_as(structure, given)
                if structure is not None else
                given[0] if len(given) == 1 else given, training=training))
            result = [each for each in results if each.dtype == tf.float32][index]
            labels = np.random.default_rng(2).normal(
                size=result.shape).astype(np.float32)
            loss = tf.reduce_mean((result - labels) ** 2)
        gradients = {each.path: gradient for each, gradient in zip(
            weights, tape.gradient(loss, [each.value for each in weights]))}
    used = sorted(gradients.keys() & _origins(_graph(path), output))
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
