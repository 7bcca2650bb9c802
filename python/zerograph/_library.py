"""The C interface (zerograph.h) by ctypes, and its errors as exceptions."""

from __future__ import annotations

import atexit
import ctypes
import functools
import logging
import os
import pathlib
import queue
import re
import sys
import warnings
from collections.abc import Callable

#: The version of the interface that this package was written for.
INTERFACE = 3
#: ZG_INVALID_ARGUMENT
_INVALID_ARGUMENT = 3


class Error(RuntimeError):
    """Says what the library could not do, and what to do about it."""


class InvalidArgument(Error, ValueError):
    """An option, a batch or a file is wrong."""


class Array(ctypes.Structure):
    """zg_array"""
    _fields_ = [("name", ctypes.c_char_p), ("type", ctypes.c_char_p),
                ("dims", ctypes.c_size_t),
                ("shape", ctypes.POINTER(ctypes.c_uint64)),
                ("data", ctypes.c_void_p)]


class Step(ctypes.Structure):
    """zg_step"""
    _fields_ = [("loss", ctypes.c_double), ("gradient_norm", ctypes.c_double),
                ("learning_rate", ctypes.c_double),
                ("loss_scale", ctypes.c_double), ("skipped", ctypes.c_int)]


_Texts = ctypes.POINTER(ctypes.c_char_p)
_Arrays = ctypes.POINTER(Array)
_Handle = ctypes.c_void_p
_HandleOut = ctypes.POINTER(_Handle)
_TextOut = ctypes.POINTER(ctypes.c_void_p)
_Double = ctypes.POINTER(ctypes.c_double)
_Count = ctypes.POINTER(ctypes.c_uint64)
_Addresses = ctypes.POINTER(ctypes.c_void_p)
_NoteHandler = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int,
                                ctypes.c_char_p)

#: The parameters of each function that returns a zg_code.
_FUNCTIONS = {
    "zg_compile": [ctypes.c_char_p, _Texts, ctypes.c_size_t, _Arrays,
                   ctypes.c_size_t, _HandleOut],
    "zg_advise": [ctypes.c_char_p, _Texts, ctypes.c_size_t, _Arrays,
                  ctypes.c_size_t, _TextOut],
    "zg_plan_read": [ctypes.c_char_p, _HandleOut],
    "zg_plan_write": [_Handle, ctypes.c_char_p],
    "zg_plan_inspect": [_Handle, ctypes.c_char_p, _TextOut],
    "zg_plan_checkpoint": [_Handle, _TextOut],
    "zg_checkpoint_write": [_Handle, ctypes.c_char_p, _Arrays,
                            ctypes.c_size_t, ctypes.c_char_p, _TextOut],
    "zg_trainer_create_of": [ctypes.POINTER(_Handle), ctypes.c_size_t, _Texts,
                             ctypes.c_size_t, _HandleOut],
    "zg_trainer_step": [_Handle, _Arrays, ctypes.c_size_t,
                        ctypes.POINTER(Step)],
    "zg_trainer_accumulate": [_Handle, _Arrays, ctypes.c_size_t],
    "zg_trainer_update": [_Handle, ctypes.POINTER(Step)],
    "zg_trainer_discard": [_Handle],
    "zg_trainer_metrics": [_Handle, ctypes.c_int, _Double, ctypes.c_size_t,
                           _Double],
    "zg_trainer_evaluate": [_Handle, _Arrays, ctypes.c_size_t, _Double,
                            _Double],
    "zg_trainer_set_rate": [_Handle, ctypes.c_double],
    "zg_trainer_set_group_rate": [_Handle, ctypes.c_char_p, ctypes.c_double],
    "zg_trainer_position": [_Handle, _Count, _Count],
    "zg_trainer_arrays": [_Handle, ctypes.c_char_p, _TextOut],
    "zg_trainer_read": [_Handle, ctypes.c_char_p, _Addresses,
                        ctypes.c_size_t],
    "zg_trainer_write": [_Handle, ctypes.c_char_p, _Arrays, ctypes.c_size_t,
                         ctypes.c_int],
    "zg_trainer_find": [_Handle, ctypes.c_char_p, _Addresses,
                        ctypes.c_size_t],
    "zg_trainer_save": [_Handle, ctypes.c_char_p, ctypes.c_int],
    "zg_trainer_checkpoint": [_Handle, ctypes.c_char_p, _TextOut],
    "zg_trainer_end": [_Handle],
}

_notes: queue.SimpleQueue = queue.SimpleQueue()


@_NoteHandler
def _take_note(_context, warning, text):
    _notes.put((warning, text))  # said by the thread that called the library


def home() -> pathlib.Path:
    """Returns the folder that has lib/libzerograph.so and bin/zerograph: this
    package, or what the environment variable ZEROGRAPH_HOME names."""
    return pathlib.Path(os.environ.get("ZEROGRAPH_HOME") or
                        pathlib.Path(__file__).parent)


@functools.lru_cache(maxsize=None)
def library() -> ctypes.CDLL:
    """Loads the library, once."""
    path = home() / "lib" / "libzerograph.so"
    if not path.exists():
        raise ImportError(
            f"{path} is missing: install the wheel of zerograph, or set "
            "ZEROGRAPH_HOME to the folder that has lib/libzerograph.so")
    # TensorFlow shows all others its own protobuf, which is another version's.
    own = os.RTLD_DEEPBIND if "tensorflow" in sys.modules else 0
    loaded = ctypes.CDLL(str(path), mode=ctypes.RTLD_LOCAL | own)
    if loaded.zg_interface() < INTERFACE:
        raise ImportError(f"{path} is older than this package")
    for name, parameters in _FUNCTIONS.items():
        function = getattr(loaded, name)
        function.argtypes = parameters
        function.restype = ctypes.c_int
    loaded.zg_error.restype = ctypes.c_char_p
    loaded.zg_version.restype = ctypes.c_char_p
    loaded.zg_text_free.argtypes = [ctypes.c_void_p]
    loaded.zg_plan_free.argtypes = [_Handle]
    loaded.zg_trainer_free.argtypes = [_Handle]
    loaded.zg_trainer_abort.argtypes = [_Handle, ctypes.c_char_p]
    loaded.zg_on_note.argtypes = [_NoteHandler, ctypes.c_void_p]
    loaded.zg_on_note(_take_note, None)
    # Who speaks when Python has ended finds no handler.
    atexit.register(loaded.zg_on_note, _NoteHandler(), None)
    return loaded


def in_python(text: str) -> str:
    """Writes options as keywords: micro_batch for --micro-batch."""
    return re.sub(r"--([a-z][a-z0-9-]*)",
                  lambda match: match[1].replace("-", "_"), text)


def warn(text: str) -> None:
    """Warns, at the line outside of this package that has called it."""
    frame, level = sys._getframe(), 1
    while frame and frame.f_globals.get("__package__") == __package__:
        frame, level = frame.f_back, level + 1
    warnings.warn(text, stacklevel=level)


def say_notes(leave_out: str = "") -> None:
    """Says what the library has noted since, without the path of a temporary
    folder. A warning may be an exception to the caller: what was made is to be
    safe before."""
    while not _notes.empty():
        warning, text = _notes.get()
        text = in_python(text.decode()).replace(leave_out, "")
        if warning:
            warn(text)
        else:
            logging.getLogger("zerograph").info(text)


def forget_notes() -> None:
    """Leaves unsaid what the library has noted, since it will note it again."""
    while not _notes.empty():
        _notes.get()


def check(code: int, leave_out: str = "",
          more: Callable[[str], str] = str) -> None:
    """Raises the library's error if `code` is one, without the path of a
    temporary folder, and as `more` completes it."""
    if code:
        text = in_python(library().zg_error().decode()).replace(leave_out, "")
        kind = InvalidArgument if code == _INVALID_ARGUMENT else Error
        raise kind(more(text))


def take_text(pointer: ctypes.c_void_p) -> str:
    """Returns a text that the library gave, and frees it."""
    text = ctypes.string_at(pointer.value).decode()
    library().zg_text_free(pointer)
    return text


def texts(values: list[str]):
    """Returns an array of texts for the library."""
    return (ctypes.c_char_p * len(values))(*(text.encode() for text in values))
