"""Many runs of one scene with different parameters, on any executor; what is done is kept."""

from __future__ import annotations

import itertools
import json
import os
import sys
from typing import TYPE_CHECKING, Any, Callable, Iterable, Iterator, Mapping, Sequence

import numpy as np

from . import _engine
from ._errors import InputError
from ._record import columns, in_notebook
from ._scene import Scene, load
from ._simulation import Simulation

if TYPE_CHECKING:
    import concurrent.futures as futures


class Sweep:
    """The rows of a sweep, in the order of its parameters.

    A row is a dictionary: `params`, `status` ("done" or "failed"), `message`, `values` (what was measured), `steps`,
    `not_accepted`, `error_J` of the worst step, `error_relative`, `culprit`, `hash` of the last state.

        rows = sg.sweep("incline", {"mu": np.linspace(0.1, 1, 64)}, measure=["energy.friction"])
        plt.plot(rows.column("mu"), rows.column("energy.friction"))
    """

    def __init__(self, rows: list[dict[str, Any]], out: str | None = None) -> None:
        self.rows = rows
        self.out = out
        """The folder that keeps them."""

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return iter(self.rows)

    def __getitem__(self, i: int) -> dict[str, Any]:
        return self.rows[i]

    def __repr__(self) -> str:
        return f"Sweep({len(self.rows)} runs, {len(self.failed)} failed)"

    @property
    def failed(self) -> list[dict[str, Any]]:
        """Rows of runs that failed, with their messages."""
        return [row for row in self.rows if row["status"] != "done"]

    def column(self, name: str) -> np.ndarray:
        """A parameter or a measured figure of all runs; NaN where a run failed."""
        values = [row["params"].get(name, row["values"].get(name)) for row in self.rows]
        if all(v is None for v in values):
            raise InputError(f"no run has a parameter or figure `{name}`")
        some = next(np.shape(v) for v in values if v is not None)
        return np.array([np.full(some, np.nan) if v is None else v for v in values], dtype=float)

    def trajectory(self, i: int) -> dict[str, np.ndarray]:
        """The trajectory of a run: `time` (s), `poses`, `velocities`, `error_J` and every measured figure at some moments."""
        if self.out is None:
            raise InputError("the trajectory of a run is kept in the folder out=")
        with np.load(os.path.join(self.out, "runs", f"{self.rows[i]['key']}.npz")) as file:
            return {name: file[name] for name in file.files}

    course = trajectory
    """The earlier name of `trajectory`."""

    def _table(self) -> dict[str, Any]:
        names = list(dict.fromkeys(name for row in self.rows for name in (*row["params"], *row["values"])))
        table: dict[str, Any] = {}
        for name in names:
            try:
                table[name] = self.column(name)
            except ValueError:
                table[name] = [row["params"].get(name, row["values"].get(name)) for row in self.rows]
        for name in ("status", "message", "steps", "not_accepted", "error_J", "culprit"):
            table[name] = [row[name] for row in self.rows]
        return table

    def to_pandas(self) -> Any:
        """A table of pandas, if that is installed: one row per run."""
        return columns(self._table(), "pandas")

    def to_arrow(self) -> Any:
        """A table of Arrow, if that is installed: one row per run; `pyarrow.parquet.write_table` makes a Parquet file of it."""
        return columns(self._table(), "arrow")

    def _repr_html_(self) -> str:
        import html

        lines = _engine._sweep_table(json.dumps(self.rows[:20])).splitlines()
        cells = [[html.escape(x) for x in line.split(",")] for line in lines]
        rows = "".join("<tr>" + "".join(f"<td>{x}</td>" for x in row) + "</tr>" for row in cells)
        return f"<table>{rows}</table>{html.escape(repr(self))}"


def latin_hypercube(ranges: Mapping[str, tuple[float, float]], n: int, seed: int = 0) -> list[dict[str, float]]:
    """`n` samples, one in each n-th of every range (from, to); the same for the same seed, here and in `signorini sweep`.

        samples = sg.latin_hypercube({"mu": (0.1, 1.0)}, 200, seed=1)
    """
    return json.loads(_engine._samples("latin", [(name, "uniform", float(a), float(b)) for name, (a, b) in ranges.items()], n, seed))


def monte_carlo(ranges: Mapping[str, Sequence[Any]], n: int, seed: int = 0) -> list[dict[str, float]]:
    """`n` independent samples: (from, to) uniform, or ("normal", mean, deviation); the same for the same seed.

        samples = sg.monte_carlo({"mu": (0.3, 0.5), "speed": ("normal", 2.0, 0.1)}, 1000, seed=1)
    """
    parts = []
    for name, spread in ranges.items():
        kind, a, b = spread if len(spread) == 3 else ("uniform", *spread)
        if kind not in ("uniform", "normal"):
            raise InputError(f"{name}: spread `{kind}`, wanted uniform or normal")
        parts.append((name, kind, float(a), float(b)))
    return json.loads(_engine._samples("random", parts, n, seed))


def _run(task: dict[str, Any]) -> dict[str, Any]:
    """One run on a worker: a row, whatever happens. What an earlier worker finished is not computed again."""
    key, out, params = task["key"], task["out"], task["params"]
    if out is not None:
        os.makedirs(os.path.join(out, "runs"), exist_ok=True)
        known = _engine._sweep_row(out, key)
        if known is not None and not (task["retry"] and json.loads(known)["status"] != "done"):
            return json.loads(known)
    names = [m for m in task["measure"] if isinstance(m, str)]
    try:
        scene: Any = task["scene"]
        scene = scene(**params) if callable(scene) else load(scene, set=params)
        sim: Simulation = scene.simulate(**task["settings"])  # pyright: ignore[reportAttributeAccessIssue]
        t_end = sim.end_time if task["t_end"] is None else task["t_end"]
        if t_end is None:
            raise InputError("wanted t_end=: the scene was made in code and does not say when it ends")
        row = json.loads(_engine._drive(sim, key, json.dumps(params), float(t_end), names, out, float(task["checkpoint"])))
        if row["status"] == "done":
            for measure in task["measure"]:
                if not isinstance(measure, str):
                    row["values"][measure.__name__] = np.asarray(measure(sim), dtype=float).tolist()
    except Exception as error:
        row = {
            "key": key, "params": params, "status": "failed", "message": f"{type(error).__name__}: {error}", "values": {},
            "steps": 0, "not_accepted": 0, "error_J": None, "error_relative": None, "culprit": None, "hash": "",
        }
    if out is not None:
        _engine._write_row(out, json.dumps(row))
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


def _identity(scene: Any) -> tuple[Any, str]:
    """What workers load, and what stands for it in the keys of runs."""
    if isinstance(scene, Scene):
        if not scene.source:
            raise InputError("a sweep wants a scene file, the name of a scene, or a function of the parameters that makes one")
        scene = scene.source
    if callable(scene):
        return scene, f"{scene.__module__}.{scene.__qualname__}"
    scene = os.fspath(scene)
    if not os.path.isfile(scene):
        return scene, scene
    import hashlib

    # A changed file is another sweep.
    with open(scene, "rb") as file:
        return os.path.abspath(scene), hashlib.sha256(file.read()).hexdigest()


def _tasks(
    scene: Any, samples: Sequence[Mapping[str, Any]], measure: Sequence[Any], t_end: float | None, settings: dict[str, Any],
    rest: dict[str, Any],
) -> list[dict[str, Any]]:
    scene, identity = _identity(scene)
    names = [m if isinstance(m, str) else m.__name__ for m in measure]
    if len(set(names)) < len(names) or "<lambda>" in names:
        raise InputError(f"measure has the names {', '.join(names)}: wanted names that differ, so no lambda")
    tasks = []
    for sample in samples:
        params = {str(name): x if isinstance(x, str) else float(x) for name, x in sample.items()}
        said = json.dumps([identity, params, t_end, settings, names], sort_keys=True)
        tasks.append({
            "key": _engine._sweep_key(said), "scene": scene, "params": params, "t_end": t_end, "settings": settings,
            "measure": list(measure), **rest,
        })
    return tasks


def sweep(
    scene: str | os.PathLike[str] | Scene | Callable[..., Scene],
    grid: Mapping[str, Iterable[Any]] | None = None,
    *,
    samples: Sequence[Mapping[str, Any]] | None = None,
    measure: Sequence[str | Callable[[Any], Any]] = (),
    t_end: float | None = None,
    executor: futures.Executor | None = None,
    client: Any = None,
    out: str | os.PathLike[str] | None = None,
    retry: bool = False,
    checkpoint: float = 30.0,
    progress: bool | None = None,
    on_row: Callable[[dict[str, Any]], Any] | None = None,
    **settings: Any,
) -> Sweep:
    """Runs a scene with every combination of `grid`, or with every one of `samples`.

    `scene`: a file, the name of a scene, or a function that makes a `Scene` from the parameters. `measure` names figures at
    the end of a run (`body.crate.position`, `energy.friction`; see `Simulation.figure`), or functions of the simulation.
    `executor` is any `concurrent.futures.Executor`; `client` a `dask.distributed.Client`; without either the runs go one
    after the other. `on_row` is called with every row as it arrives. Further settings as of `Scene.simulate`.

    With `out`, a folder that all workers see, every finished run is a line of `out/manifest.jsonl` and its trajectory is
    `out/runs/KEY.npz`: an interrupted sweep computes only what is missing (`retry=True`: also what failed), and a run
    whose worker died goes on from its last checkpoint (every `checkpoint` seconds). A run that fails is a row with its
    message. A run has the same bits on every worker.

        rows = sg.sweep("incline", {"mu": np.linspace(0.1, 1, 64)}, measure=["body.slider.position"], out="sweep")
        with dask.distributed.Client() as client:
            rows = sg.sweep("incline", samples=sg.latin_hypercube({"mu": (0.1, 1)}, 1000), client=client, out="sweep")
    """
    if (grid is None) == (samples is None):
        raise InputError("wanted either grid= or samples=")
    if grid is not None:
        combinations = itertools.product(*(list(values) for values in grid.values()))
        samples = [dict(zip(grid, values)) for values in combinations]
    folder = None if out is None else os.path.abspath(out)
    rest = {"out": folder, "checkpoint": checkpoint, "retry": retry}
    tasks = _tasks(scene, samples or (), measure, t_end, settings, rest)
    manifest = None
    known: dict[str, dict[str, Any]] = {}
    if folder is not None:
        os.makedirs(folder, exist_ok=True)
        manifest = os.path.join(folder, "manifest.jsonl")
        known = _done(manifest)
        if retry:
            known = {key: row for key, row in known.items() if row["status"] == "done"}
        _end_line(manifest)
    missing = list({task["key"]: task for task in tasks if task["key"] not in known}.values())
    show = progress if progress is not None else sys.stderr is not None and (sys.stderr.isatty() or in_notebook())
    arriving = _on_dask(missing, client) if client is not None else _rows(missing, executor)
    for i, row in enumerate(arriving):
        known[row["key"]] = row
        if manifest is not None:
            with open(manifest, "a", encoding="utf-8") as file:
                file.write(json.dumps(row) + "\n")
        if show:
            print(f"\r{i + 1} of {len(missing)} runs", end="\n" if i + 1 == len(missing) else "", file=sys.stderr, flush=True)
        if on_row is not None:
            on_row(row)
    rows = [known[task["key"]] for task in tasks]
    if folder is not None:
        with open(os.path.join(folder, "table.csv"), "w", encoding="utf-8") as file:
            file.write(_engine._sweep_table(json.dumps(rows)))
    return Sweep(rows, folder)


def _rows(tasks: list[dict[str, Any]], executor: futures.Executor | None) -> Iterator[dict[str, Any]]:
    """Rows as they arrive."""
    if executor is None:
        yield from map(_run, tasks)
        return
    from concurrent.futures import as_completed

    waiting = [executor.submit(_run, task) for task in tasks]
    try:
        for future in as_completed(waiting):
            yield future.result()
    except BaseException:
        for future in waiting:
            future.cancel()
        raise


def _on_dask(tasks: list[dict[str, Any]], client: Any) -> Iterator[dict[str, Any]]:
    """Rows as they arrive from the workers of Dask; a run whose worker dies goes to another one."""
    from distributed import as_completed  # pyright: ignore[reportMissingImports]

    waiting = [client.submit(_run, task, key=f"signorini-{task['key']}", pure=False, retries=3) for task in tasks]
    try:
        for future in as_completed(waiting):
            yield future.result()
            future.release()
    except BaseException:
        client.cancel(waiting)
        raise
