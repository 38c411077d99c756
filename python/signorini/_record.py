"""What a run left behind: its record, pictures, the page of the report, comparisons."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any, Mapping

import numpy as np

from . import _engine
from ._errors import InputError

if TYPE_CHECKING:
    from ._simulation import Simulation


class Picture(bytes):
    """The bytes of a PNG file (`.png`) or GIF file (`.gif`); a notebook shows it.

        sim.picture().save("arch.png")
    """

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the file."""
        with open(path, "wb") as file:
            file.write(self)

    @property
    def kind(self) -> str:
        """`png` or `gif`."""
        return "gif" if self[:3] == b"GIF" else "png"

    def __repr__(self) -> str:
        return f"Picture({self.kind}, {len(self)} bytes)"

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        from base64 import b64encode

        return {f"image/{self.kind}": b64encode(self).decode(), "text/plain": repr(self)}


class Page:
    """The page of a report: 3D replay, plots, verdicts, in one HTML text that needs no network. A notebook shows it."""

    def __init__(self, html: str, height: int = 600) -> None:
        self.html = html
        """The whole page."""
        self.height = height
        """Pixels of its frame in a notebook."""

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the page as a file."""
        with open(path, "w", encoding="utf-8") as file:
            file.write(self.html)

    def __repr__(self) -> str:
        return f"Page({len(self.html)} characters)"

    def _repr_html_(self) -> str:
        import html

        style = f"width:100%;height:{int(self.height)}px;border:1px solid #ccc"
        return f'<iframe style="{style}" sandbox="allow-scripts" srcdoc="{html.escape(self.html, quote=True)}"></iframe>'


def in_notebook() -> bool:
    """True in a kernel of Jupyter."""
    import sys

    shell = sys.modules.get("IPython")
    found = shell.get_ipython() if shell is not None else None
    return found is not None and hasattr(found, "kernel")


def display(page: Page) -> Page | None:
    """Shows a page: in a notebook inline, else in the browser."""
    if in_notebook():
        from IPython.display import display as show  # pyright: ignore[reportMissingImports]

        show(page)
        return None
    import tempfile
    import webbrowser

    handle, path = tempfile.mkstemp(prefix="signorini-", suffix=".html")
    os.close(handle)
    page.save(path)
    webbrowser.open(f"file://{path}")
    return page


def columns(table: Mapping[str, Any], kind: str) -> Any:
    """Columns as a table of pandas or of Arrow; columns of vectors become one column per component."""
    flat: dict[str, Any] = {}
    for name, values in table.items():
        array = np.asarray(values)
        if array.ndim == 2 and array.dtype.kind == "f":
            for i in range(array.shape[1]):
                flat[f"{name}.{'xyzw'[i] if array.shape[1] <= 4 else i}"] = array[:, i]
        else:
            flat[name] = values if array.dtype.kind in "OU" else array
    if kind == "pandas":
        import pandas

        return pandas.DataFrame(flat)
    import pyarrow

    return pyarrow.table(flat)


class Record(_engine.Record):
    """The record of a run: `Record("run/")` of a folder that `sim.record("run/")` or `signorini run --out` wrote, or
    `sim.recorded` of a simulation that is being recorded.

        r = sg.Record("run/")
        height = r.poses[:, r.bodies.index("crate"), 2]
        r.picture(t=0.5).save("crate.png")
        r.to_pandas().plot(x="time", y="error_J")
    """

    def __new__(cls, path: str | os.PathLike[str] | None = None, *, bytes: bytes | None = None) -> Record:
        return super().__new__(cls, None if path is None else os.fspath(path), bytes)

    def __repr__(self) -> str:
        times = self.times
        end = f"t = {times[0]:.4g}…{times[-1]:.4g} s" if len(times) else "empty"
        return f"Record({self.name!r}: {len(times)} frames, {end}, {len(self.bodies)} bodies)"

    @property
    def summary(self) -> dict[str, Any] | None:
        """The summary of the run, as in run.json; None if it broke off."""
        text = self._summary()
        return None if text is None else json.loads(text)

    @property
    def steps(self) -> dict[str, Any]:
        """One entry per recorded step: `time` (s), `error_J`, `relative`, `accepted`, `worst` (the culprit), `solver`,
        `contacts`, `penetration` (m), the energies (J) and more, as columns."""
        return {"error_J" if name == "joule" else name: values for name, values in self._steps().items()}

    def to_pandas(self) -> Any:
        """The steps as a table of pandas."""
        return columns(self.steps, "pandas")

    def to_arrow(self) -> Any:
        """The steps as a table of Arrow."""
        return columns(self.steps, "arrow")

    def picture(
        self, path: str | os.PathLike[str] | None = None, *, t: float | None = None, size: tuple[int, int] = (1280, 800),
        forces: bool = False,
    ) -> Picture:
        """A picture of the moment nearest to `t` (s), or of the last one; drawn without a display."""
        out = Picture(self._picture(t, (int(size[0]), int(size[1])), forces))
        if path is not None:
            out.save(path)
        return out

    def animation(
        self, path: str | os.PathLike[str] | None = None, *, size: tuple[int, int] = (640, 400), forces: bool = False,
        fps: int = 20, slower: float = 1.0,
    ) -> Picture:
        """An animation (GIF): so many pictures per second, so many times slower than real time."""
        out = Picture(self._animation((int(size[0]), int(size[1])), forces, int(fps), float(slower)))
        if path is not None:
            out.save(path)
        return out

    def plot(self, kind: str = "error") -> str:
        """A plot of every step as SVG: `error` (J), `time` (error of the time step, m), `energy` (the ledger, J) or `iterations`."""
        return self._plot(kind)

    def page(self, height: int = 600) -> Page:
        """The page of the report."""
        return Page(self.html(), height)

    def show(self, height: int = 600) -> Page | None:
        """Shows the page: in a notebook inline, else in the browser."""
        return display(self.page(height))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the report (`.html`), animated glTF (`.glb`) or the record itself (`.bin`)."""
        ending = os.path.splitext(os.fspath(path))[1]
        if ending == ".html":
            return self.page().save(path)
        if ending not in (".glb", ".bin"):
            raise InputError(f"{os.fspath(path)}: wanted a file that ends with .html, .glb or .bin")
        with open(path, "wb") as file:
            file.write(self._glb() if ending == ".glb" else self._bytes())

    def _repr_html_(self) -> str:
        return self.page()._repr_html_()


class Comparison:
    """How far two runs are apart. Made by `signorini.compare`."""

    def __init__(self, times: np.ndarray, distance: dict[str, np.ndarray], turn: dict[str, np.ndarray]) -> None:
        self.times = times
        """When, s: the frames of the first run that the second one covers."""
        self.distance = distance
        """For every body that both have: distance of its two positions at these times, m."""
        self.turn = turn
        """The angle between its two orientations, rad."""

    @property
    def worst(self) -> tuple[str, float, float]:
        """Body, time (s) and distance (m) of the largest difference."""
        largest = {name: float(values.max()) for name, values in self.distance.items()}
        name = max(largest, key=lambda n: largest[n])
        return name, float(self.times[int(self.distance[name].argmax())]), largest[name]

    def first_beyond(self, distance: float) -> tuple[str, float] | None:
        """The body that is first further apart than this (m), and when (s); None if none ever is."""
        found = [
            (float(self.times[int((values > distance).argmax())]), name)
            for name, values in self.distance.items() if (values > distance).any()
        ]
        return (min(found)[1], min(found)[0]) if found else None

    def to_pandas(self) -> Any:
        """Distances over time as a table of pandas: one column per body."""
        return columns({"time": self.times, **self.distance}, "pandas")

    def to_arrow(self) -> Any:
        """Distances over time as a table of Arrow: one column per body."""
        return columns({"time": self.times, **self.distance}, "arrow")

    def __repr__(self) -> str:
        name, time, distance = self.worst
        span = f"t = {self.times[0]:.4g}…{self.times[-1]:.4g} s"
        return f"Comparison({len(self.distance)} bodies, {span}: at most {distance:.3g} m apart, {name} at t = {time:.4g} s)"

    def _repr_html_(self) -> str:
        import html

        far = sorted(self.distance, key=lambda name: -float(self.distance[name].max()))[:10]
        rows = "".join(
            f"<tr><td>{html.escape(name)}</td><td>{self.distance[name].max():.3g}</td>"
            f"<td>{self.times[self.distance[name].argmax()]:.4g}</td><td>{self.turn[name].max():.3g}</td></tr>"
            for name in far
        )
        head = "<tr><th>body</th><th>at most apart, m</th><th>at t, s</th><th>turned by, rad</th></tr>"
        return f"<table>{head}{rows}</table>"


def _record(x: Record | Simulation | str | os.PathLike[str]) -> Record:
    if isinstance(x, Record):
        return x
    recorded = getattr(x, "recorded", None)
    if recorded is not None:
        return recorded
    if isinstance(x, (str, os.PathLike)):
        return Record(x)
    raise InputError(f"{x!r} is not recorded: call .record() before it runs, or give the folder of a record")


def compare(a: Record | Simulation | str | os.PathLike[str], b: Record | Simulation | str | os.PathLike[str]) -> Comparison:
    """How far two recorded runs are apart, body by body; between frames of the second one positions are interpolated.

        print(sg.compare("run-coulomb/", "run-cone/"))
    """
    a, b = _record(a), _record(b)
    ta, tb = a.times, b.times
    both = [name for name in a.bodies if name in set(b.bodies)]
    covered = (ta >= tb[0] - 1e-9) & (ta <= tb[-1] + 1e-9) if len(tb) else np.zeros(len(ta), dtype=bool)
    times = ta[covered]
    if not both or not len(times):
        raise InputError("the runs have no body or no time in common")
    pa, pb = a.poses[covered], b.poses
    after = np.clip(np.searchsorted(tb, times), 1, max(len(tb) - 1, 1)) if len(tb) > 1 else np.zeros(len(times), dtype=int)
    before = np.maximum(after - 1, 0)
    width = tb[after] - tb[before]
    share = np.where(width > 0, np.clip((times - tb[before]) / np.where(width > 0, width, 1), 0, 1), 0.0)[:, None, None]
    pb = (1 - share) * pb[before] + share * pb[after]
    distance, turn = {}, {}
    ia, ib = {n: i for i, n in enumerate(a.bodies)}, {n: i for i, n in enumerate(b.bodies)}
    for name in both:
        p, q = pa[:, ia[name]], pb[:, ib[name]]
        distance[name] = np.linalg.norm(p[:, :3] - q[:, :3], axis=1)
        cosine = np.abs((p[:, 3:] * q[:, 3:]).sum(axis=1)) / np.linalg.norm(q[:, 3:], axis=1)
        turn[name] = 2 * np.arccos(np.clip(cosine, 0, 1))
    return Comparison(times, distance, turn)
