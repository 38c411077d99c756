"""A scene that moves."""

from __future__ import annotations

import contextlib
import os
import sys
import time as clock
from typing import TYPE_CHECKING, Any, Callable, Iterator, Mapping, NamedTuple, Sequence

import numpy as np

from . import _engine
from ._errors import InputError
from ._formula import formula
from ._names import Named
from ._record import Page, Picture, Record, columns, display, in_notebook
from ._parts import Body, ForceBetween, Joint, JointReaction, Material, Motor
from ._scene import Key, Scene, Vector, _scene, dumps, number

if TYPE_CHECKING:
    from ._engine import Verdict
    from ._problem import Problem

CONTACT = np.dtype([
    ("a", "i4"), ("b", "i4"), ("point", "f8", 3), ("normal", "f8", 3), ("force", "f8", 3),
    ("impulse", "f8", 3), ("slip", "f8", 3), ("gap", "f8"), ("status", "U6"),
])
"""The fields of `Simulation.contacts`."""

SLICE = 0.05
"""So long (s) a run works before it looks whether Ctrl-C was pressed."""


class Stretch(NamedTuple):
    """What a stretch of steps was like."""

    steps: int
    """Steps taken."""
    not_accepted: int
    """How many of them were not accepted."""
    worst: Verdict | None
    """The verdict with the largest error relative to its energy scale."""


class Simulation(_engine.Simulation, Named):
    """A scene that moves. Made by `Scene.simulate`.

        while sim.time < 5:
            knee = sim.joint("knee")
            sim.motor("knee").torque = -40 * knee.angle - 2 * knee.rate
            v = sim.step()

    `poses`, `velocities`, `angles` and `nodes` are read-only views into the engine's memory: they show the present state
    after every step, without a copy, and stay valid as long as they exist, even if the simulation is deleted. Copy what
    you want to keep (`sim.poses.copy()`). Another thread that reads them during a step may see half of it.

    Steps give up the interpreter's lock: simulations in several threads run beside each other.
    """

    _keep: tuple[Any, ...] = ()
    _callback: Callable[[Simulation], Any] | None = None

    def __repr__(self) -> str:
        return f"Simulation(t = {self.time:.6g} s, {self.steps} steps, {len(self.bodies)} bodies)"

    @property
    def t(self) -> float:
        """The time, s."""
        return self.time

    @property
    def scene(self) -> Scene:
        """The scene as it is now (a copy)."""
        return _scene(Scene, self._scene_json(), self._settings_json(), (self.end_time, "", "", []))

    def body(self, name: Key) -> Body:
        """A body, by name or number."""
        return Body(self, self._find("body", name))

    def joint(self, name: Key) -> Joint:
        """A joint, by name or number."""
        return Joint(self, self._find("joint", name))

    def motor(self, name: Key) -> Motor:
        """A motor, by name or number; the name of a joint stands for its only motor."""
        return Motor(self, self._find("motor", name))

    def material(self, name: Key) -> Material:
        """A material, by name or number."""
        return Material(self, self._find("material", name))

    def apply_force(self, body: Key, force: Vector, point: Vector | None = None) -> None:
        """Lets a force (N) act on a body during the next step, at a point of the world (m) or at its centre of mass."""
        self.body(body).apply_force(force, point)

    def apply_torque(self, body: Key, torque: Vector) -> None:
        """Lets a torque (N m) act on a body during the next step."""
        self.body(body).apply_torque(torque)

    def run(
        self, t_end: float | None = None, *, progress: bool | None = None,
        callback: Callable[[Simulation], Any] | None = None,
    ) -> Stretch:
        """Steps until the time is `t_end` (s), or until the scene file ends.

        Ctrl-C ends it between two steps and raises KeyboardInterrupt; the state is that of the last step. `callback(sim)`
        is called before every step. `progress` shows how far it is; without a word it does so in terminals and notebooks,
        for runs that take longer than a second.
        """
        t_end = self.end_time if t_end is None else t_end
        if t_end is None:
            raise TypeError("run() wants t_end: the scene was made in code and does not say when it ends")
        t_end = number(t_end, "t_end")
        steps, refused, worst, there = 0, 0, None, False
        bar = _Progress(self.time, t_end, progress)
        calls = [f for f in (self._callback, callback) if f is not None]
        try:
            while not there:
                if calls and not self._reached(t_end):
                    for call in calls:
                        call(self)
                there, more, bad, verdict = self._advance(t_end, 0.0 if calls else SLICE)
                steps, refused = steps + more, refused + bad
                if verdict is not None and (worst is None or verdict.error_relative > worst.error_relative):
                    worst = verdict
                bar.show(self.time, steps)
        finally:
            bar.end()
        return Stretch(steps, refused, worst)

    def step(self) -> Verdict:
        """Takes one step, and says how wrong it is. After an error everything is as it was."""
        if self._callback is not None:
            self._callback(self)
        return self._step()

    def control(
        self, controller: Any, observe: Sequence[str] = (), act: Sequence[str] = (), *, every: float = 0.0
    ) -> None:
        """Lets a controller act before every step, or `every` so many seconds.

        - a **C function** `void control(double t, const double *observed, double *action)`: an address, a `numba.cfunc`
          of `signorini.CONTROLLER`, or a function of ctypes. It runs without the interpreter, also in batches. `observe`
          names what it gets, in this order (`joint.knee.angle`, `body.crate.position`, …); `act` what it sets
          (`motor.knee.torque`, `.target`, `.speed`, `material.wood.mu`, …).
        - **formulas** (SI units), one for each input: they too run without the interpreter. They know `t`, `JOINT.angle`, `slide`,
          `distance`, `rate`, `BODY.x`, `y`, `z`, `vx`, `vy`, `vz`, `speed`, `MOTOR.effort`, `a if c else b`, sin, sqrt, min, max, …
        - a **Python function** of the simulation: `sim.control(lambda sim: …)`.
        - **None**: no controllers any more.

            @numba.cfunc(sg.CONTROLLER)
            def pd(t, x, u):
                u[0] = -40 * x[0] - 2 * x[1]

            sim.control(pd, observe=["joint.knee.angle", "joint.knee.rate"], act=["motor.knee.torque"])
            sim.control({"motor.knee.torque": "-40*knee.angle - 2*knee.rate"}, every=5e-3)

        A controller belongs to this simulation: `copy()` keeps it, a pickle of the simulation does not.
        """
        if controller is None:
            self._callback, self._keep = None, ()
            self._clear_controllers()
            return
        every = number(every, "every")
        if every < 0:
            raise InputError(f"every is {every} s, wanted ≥ 0")
        address = _address(controller)
        if isinstance(controller, Mapping):
            if observe or act:
                raise InputError("observe= and act= belong to C functions; formulas are a dictionary from inputs to texts")
            formulas = dumps("formulas", [formula(self, str(text)) for text in controller.values()])
            self._control_formulas([str(name) for name in controller], formulas, every)
            self._keep = (*self._keep, (dict(controller), (), (), every))
        elif address is not None:
            self._control(address, list(observe), list(act), every)
            self._keep = (*self._keep, (controller, list(observe), list(act), every))
        elif callable(controller):
            if observe or act or every:
                raise InputError("observe=, act= and every= belong to compiled controllers; a Python function gets the simulation")
            self._callback = controller
        else:
            raise InputError(f"{controller!r} is no controller: wanted a C function, formulas, a Python function or None")

    @property
    def contacts(self) -> np.recarray:
        """The contacts of the last step, open ones included, as a structured array.

        Fields: `a`, `b` (numbers of the bodies), `point` (m), `normal` (from a to b), `force` (mean force on b, N),
        `impulse` (N s), `slip` (velocity of b along a, m/s), `gap` (m), `status` ("open", "stick", "slip").
        """
        return np.frombuffer(self._contacts(), dtype=CONTACT).view(np.recarray)

    def forces_between(self, a: Key, b: Key) -> ForceBetween:
        """What the contacts between two bodies exerted on `b` during the last step."""
        return ForceBetween(*self._forces_between(self._find("body", a), self._find("body", b)))

    def reactions(self) -> dict[str, JointReaction]:
        """What every joint exerted on its second body during the last step, by name; empty before the first step."""
        names = self.joints
        return {
            names[joint]: JointReaction(*(np.array(x) for x in rest)) for joint, *rest in self._reactions()
        }

    def problem(self) -> Problem:
        """The problem of the last step: H v = k + Jᵀ r, u = J v + E r + w, one law per block."""
        from ._problem import Problem

        return Problem._of(self._problem())

    def figure(self, name: str) -> Any:
        """A figure by name, a float or an array: `body.crate.position`, `body.crate.position.x`, `joint.knee.angle`,
        `motor.knee.effort`, `energy.friction`, `force.hand|cube`, `contacts`, `error` (J), `penetration` (m), `time`."""
        values = self._get(name)
        return float(values[0]) if len(values) == 1 else values

    def record(self, folder: str | os.PathLike[str] | None = None, *, every: int | None = None) -> None:
        """Records from here on, into a folder (as `signorini run --out`) or in memory, with a frame every so many steps.

        `sim.recorded` is the record as it stands, `sim.show()` its page; `sim.finish_recording()` completes the folder.
        """
        if every is not None and int(every) < 1:
            raise InputError(f"every is {every}, wanted at least 1")
        self._record(None if folder is None else os.fspath(folder), None if every is None else int(every))

    @contextlib.contextmanager
    def recording(self, folder: str | os.PathLike[str] | None = None, *, every: int | None = None) -> Iterator[Simulation]:
        """Records what happens inside `with`; the folder is complete afterwards."""
        self.record(folder, every=every)
        try:
            yield self
        finally:
            self.finish_recording()

    def finish_recording(self) -> Record | None:
        """Ends the record: the files of a folder are complete. The record itself, if it was in memory."""
        bytes = self._finish_recording()
        return None if bytes is None else Record(bytes=bytes)

    @property
    def recorded(self) -> Record | None:
        """The record as it stands; None if nothing is recorded."""
        bytes = self._recorded()
        return None if bytes is None else Record(bytes=bytes)

    def page(self, height: int = 600) -> Page:
        """The page of the report: of the record, or of the present moment alone if nothing is recorded."""
        record = self.recorded
        if record is None:
            still = self.copy()
            still.control(None)
            still.record()
            record = still.recorded
        assert record is not None
        return record.page(height)

    def show(self, height: int = 600) -> Page | None:
        """Shows the page of the report: in a notebook inline, else in the browser; needs no network.

        Call `sim.record()` before the run to see the whole of it; otherwise the page shows the present moment.
        """
        return display(self.page(height))

    def picture(
        self, path: str | os.PathLike[str] | None = None, *, t: float | None = None, size: tuple[int, int] = (1280, 800),
        forces: bool = False,
    ) -> Picture:
        """A picture of the present moment, or of an earlier one `t` (s) of the record; drawn without a display.

        The bytes of a PNG file, which a notebook shows; with `path` the file is written too.
        """
        size = int(size[0]), int(size[1])
        if t is None:
            out = Picture(self._picture(size, forces))
        else:
            record = self.recorded
            if record is None:
                raise InputError("picture(t=…) wants a record: call sim.record() before the run")
            out = record.picture(t=number(t, "t"), size=size, forces=forces)
        if path is not None:
            out.save(path)
        return out

    def to_pandas(self) -> Any:
        """All bodies at the present time as a table of pandas: name, position, orientation, velocities."""
        return columns(self._table(), "pandas")

    def to_arrow(self) -> Any:
        """All bodies at the present time as a table of Arrow: name, position, orientation, velocities."""
        return columns(self._table(), "arrow")

    def _table(self) -> dict[str, Any]:
        poses, velocities = self.poses, self.velocities
        return {
            "body": self.bodies, "center_of_mass": poses[:, :3].copy(), "orientation": poses[:, 3:].copy(),
            "velocity": velocities[:, :3].copy(), "angular_velocity": velocities[:, 3:].copy(),
        }

    def _repr_html_(self) -> str:
        from base64 import b64encode

        image = b64encode(self.picture(size=(960, 600), forces=True)).decode()
        verdict = "" if self.verdict is None else f"<br>{self.verdict!r}".replace("<Verdict", "&lt;Verdict")
        return f'<img src="data:image/png;base64,{image}" style="max-width:100%"><br><code>{self!r}{verdict}</code>'

    def __reduce__(self) -> tuple:
        return _simulation, (type(self), self._scene_json(), self._settings_json(), self.save(), self.end_time)

    def __copy__(self) -> Simulation:
        make, arguments = self.__reduce__()
        out = make(*arguments)
        out._callback = self._callback
        for controller, observe, act, every in self._keep:
            out.control(controller, observe, act, every=every)
        return out

    def __deepcopy__(self, memo: Any) -> Simulation:
        return self.__copy__()

    def copy(self) -> Simulation:
        """Another simulation in the same state; from there each goes its own way."""
        return self.__copy__()


def _simulation(kind: type[Simulation], scene: str, settings: str, state: bytes, end_time: float | None) -> Simulation:
    sim = kind(_scene(Scene, scene, settings, (end_time, "", "", [])), settings, end_time)
    sim.restore(state)
    return sim


def _address(controller: Any) -> int | None:
    """Where the machine code of a C function is; None if it is none."""
    if isinstance(controller, int):
        return controller
    address = getattr(controller, "address", None)
    if isinstance(address, int):
        return address
    if hasattr(controller, "argtypes"):
        import ctypes

        return ctypes.cast(controller, ctypes.c_void_p).value
    return None


class _Progress:
    """How far a run is, on stderr."""

    def __init__(self, begin: float, end: float, wanted: bool | None) -> None:
        self.begin, self.end_time, self.shown = begin, end, False
        self.patience = 0.0 if wanted else 1.0
        self.on = wanted if wanted is not None else sys.stderr is not None and (sys.stderr.isatty() or in_notebook())
        self.begun = self.last = clock.monotonic()

    def show(self, time: float, steps: int) -> None:
        now = clock.monotonic()
        if not self.on or now - self.begun < self.patience or self.shown and now - self.last < 0.1 and time < self.end_time:
            return
        self.shown, self.last = True, now
        share = min(1.0, (time - self.begin) / (self.end_time - self.begin)) if self.end_time > self.begin else 1.0
        left = (now - self.begun) * (1 / share - 1) if share > 0 else float("inf")
        bar = "#" * int(30 * share)
        sys.stderr.write(f"\r[{bar:<30}] {100 * share:5.1f} %  t = {time:.4g} s  {steps} steps  {left:.0f} s left ")
        sys.stderr.flush()

    def end(self) -> None:
        if self.shown:
            sys.stderr.write("\n")
