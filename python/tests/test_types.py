"""The package and a program that uses it, by mypy and by pyright."""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent


def test_mypy_finds_no_fault():
    pytest.importorskip("mypy")
    command = [sys.executable, "-m", "mypy", "--no-error-summary", "--ignore-missing-imports", "--cache-dir", os.devnull]
    for what in (["-p", "signorini"], ["--strict", str(HERE / "typed_program.py")]):
        said = subprocess.run([*command, *what], capture_output=True, text=True, cwd=HERE)
        assert said.returncode == 0, said.stdout + said.stderr


def test_pyright_finds_no_fault():
    if importlib.util.find_spec("pyright") is None:
        pytest.skip("pyright is not installed")
    import signorini

    package = Path(signorini.__file__).parent
    said = subprocess.run(
        [sys.executable, "-m", "pyright", "--pythonpath", sys.executable, str(package), str(HERE / "typed_program.py")],
        capture_output=True, text=True, cwd=HERE.parent,
    )
    if "informations" not in said.stdout:
        pytest.skip(f"pyright does not start: {said.stdout[-200:]}{said.stderr[-200:]}")
    assert said.returncode == 0, said.stdout + said.stderr


def test_everything_public_has_a_docstring_and_a_stub():
    import signorini as sg
    from signorini import _engine

    undocumented = []
    for name in sg.__all__:
        thing = getattr(sg, name)
        if isinstance(thing, type) or callable(thing):
            if not thing.__doc__:
                undocumented.append(name)
        if isinstance(thing, type):
            for member, value in vars(thing).items():
                public = not member.startswith("_") and (callable(value) or isinstance(value, property))
                if public and not getattr(value, "__doc__", None):
                    undocumented.append(f"{name}.{member}")
    assert undocumented == []
    stub = (Path(_engine.__file__).parent / "_engine.pyi").read_text()
    missing = [name for name in dir(_engine) if not name.startswith("__") and f" {name}" not in stub and f"{name}:" not in stub]
    for kind in ("Scene", "Simulation", "Verdict", "Problem", "Solution", "Record", "Watch", "Feed"):
        body = stub.split(f"class {kind}:")[1].split("\nclass ")[0]
        members = [m for m in vars(getattr(_engine, kind)) if not m.startswith("__")]
        missing += [f"{kind}.{m}" for m in members if f"def {m}(" not in body and f"    {m}:" not in body]
    assert missing == []
