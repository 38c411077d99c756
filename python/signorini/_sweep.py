"""Many runs of one scene with different parameters, on any executor; what is done is kept."""

from __future__ import annotations

import concurrent.futures as futures
import hashlib
import itertools
import json
import os
from typing import Any, Callable, Iterable, Iterator, Mapping, Sequence

import numpy as np

from ._errors import InputError
from ._scene import Scene, load
from ._simulation import read


class Sweep:
    """The rows of a sweep, in the order of its parameters: `params`, `status`, `values`, `message`, …"""

    def __init__(self, rows: list[dict[str, Any]]) -> None:
        self.rows = rows

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return iter(self.rows)

    def __getitem__(self, i: int) -> dict[str, Any]:
        return self.rows[i]

    @property
    def failed(self) -> list[dict[str, Any]]:
        """Rows of runs that failed, with their messages."""
        return [row for row in self.rows if row["status"] != "done"]

    def column(self, name: str) -> np.ndarray:
        """A parameter or a measured figure of all runs; NaN where a run failed."""
        values = [row["params"].get(name, row["values"].get(name)) for row in self.rows]
        some = next((np.shape(v) for v in values if v is not None), ())
        return np.array([np.full(some, np.nan) if v is None else v for v in values], dtype=float)

    def to_pandas(self) -> Any:
        """A table of pandas, if that is installed."""
        import pandas

        plain = ("status", "message", "steps", "not_accepted", "error_J", "culprit")
        return pandas.DataFrame([
            {**row["params"], **row["values"], **{key: row[key] for key in plain}} for row in self.rows
        ])


def latin_hypercube(ranges: Mapping[str, tuple[float, float]], n: int, seed: int) -> list[dict[str, float]]:
    """`n` samples, one in each n-th of every range; the same for the same seed."""
    random = np.random.default_rng(seed)
    columns = {
        name: lo + (hi - lo) * (random.permutation(n) + random.random(n)) / n for name, (lo, hi) in ranges.items()
    }
    return [{name: float(column[i]) for name, column in columns.items()} for i in range(n)]


def _run(task: dict[str, Any]) -> dict[str, Any]:
    """One run: a row, whatever happens."""
    row = {
        "key": task["key"], "params": task["params"], "status": "done", "message": "", "values": {}, "steps": 0,
        "not_accepted": 0, "error_J": None, "culprit": None,
    }
    try:
        sim = load(task["source"], set=task["params"]).simulate(**task["settings"])
        stretch = sim.run(task["t_end"])
        row["steps"], row["not_accepted"] = stretch.steps, stretch.not_accepted
        if stretch.worst is not None:
            row["error_J"], row["culprit"] = stretch.worst.error_J, stretch.worst.culprit
        for measure in task["measure"]:
            name = measure if isinstance(measure, str) else measure.__name__
            row["values"][name] = np.asarray(read(sim, measure) if isinstance(measure, str) else measure(sim)).tolist()
    except Exception as error:
        row["status"], row["message"] = "failed", f"{type(error).__name__}: {error}"
    return row


def _done(manifest: str) -> dict[str, dict[str, Any]]:
    """The rows of a manifest by key; a last line that was cut short does not count."""
    rows = {}
    if os.path.exists(manifest):
        with open(manifest, encoding="utf-8") as file:
            for line in file:
                try:
                    row = json.loads(line)
                except ValueError:
                    continue
                rows[row["key"]] = row
    return rows


def _end_line(manifest: str) -> None:
    """Ends a last line that was cut short."""
    with open(manifest, "ab+") as file:
        if file.tell() > 0:
            file.seek(-1, os.SEEK_END)
            if file.read(1) != b"\n":
                file.write(b"\n")


def sweep(
    scene: str | os.PathLike[str] | Scene,
    grid: Mapping[str, Iterable[Any]] | None = None,
    *,
    samples: Sequence[Mapping[str, Any]] | None = None,
    measure: Sequence[str | Callable[[Any], Any]] = (),
    t_end: float | None = None,
    executor: futures.Executor | None = None,
    client: Any = None,
    out: str | os.PathLike[str] | None = None,
    retry: bool = False,
    **settings: Any,
) -> Sweep:
    """Runs a scene with every combination of `grid`, or with every one of `samples`.

    `measure` names figures at the end of a run (`body.crate.position`, `energy.friction`), or functions of the simulation.
    `executor` is any `concurrent.futures.Executor`; `client` a `dask.distributed.Client`; without either the runs go one
    after the other. With `out`, a folder, every finished run is a line of `out/manifest.jsonl`: an interrupted sweep
    computes only what is missing (`retry=True`: also what failed). A run that fails is a row with its message.

        rows = sg.sweep("incline", {"mu": np.linspace(0.1, 1, 64)}, measure=["body.block.position"], out="sweep")
    """
    source = scene.source if isinstance(scene, Scene) else os.fspath(scene)
    if not source:
        raise InputError("a sweep wants a scene file or the name of a scene: parameters belong to files")
    if (grid is None) == (samples is None):
        raise InputError("wanted either grid= or samples=")
    if grid is not None:
        combinations = itertools.product(*(list(values) for values in grid.values()))
        samples = [dict(zip(grid, values)) for values in combinations]
    tasks: list[dict[str, Any]] = []
    for params in samples or ():
        plain = {name: x if isinstance(x, str) else float(x) for name, x in params.items()}
        names = [m if isinstance(m, str) else m.__name__ for m in measure]
        said = json.dumps([source, plain, t_end, settings, names], sort_keys=True)
        key = hashlib.sha256(said.encode()).hexdigest()[:16]
        tasks.append({
            "key": key, "source": source, "params": plain, "t_end": t_end, "settings": settings, "measure": list(measure),
        })
    manifest = None
    known: dict[str, dict[str, Any]] = {}
    if out is not None:
        os.makedirs(out, exist_ok=True)
        manifest = os.path.join(out, "manifest.jsonl")
        known = _done(manifest)
        if retry:
            known = {key: row for key, row in known.items() if row["status"] == "done"}
    missing = list({task["key"]: task for task in tasks if task["key"] not in known}.values())
    if client is not None:
        executor = client.get_executor()
    if manifest is not None:
        _end_line(manifest)
    for row in _rows(missing, executor):
        known[row["key"]] = row
        if manifest is not None:
            with open(manifest, "a", encoding="utf-8") as file:
                file.write(json.dumps(row) + "\n")
    return Sweep([known[task["key"]] for task in tasks])


def _rows(tasks: list[dict[str, Any]], executor: futures.Executor | None) -> Iterator[dict[str, Any]]:
    """Rows as they arrive."""
    if executor is None:
        yield from map(_run, tasks)
        return
    waiting = [executor.submit(_run, task) for task in tasks]
    try:
        for future in futures.as_completed(waiting):
            yield future.result()
    except BaseException:
        for future in waiting:
            future.cancel()
        raise
