"""Many simulations of one scene, stepped on all cores."""

from __future__ import annotations

from typing import Any, Callable, Iterator

import numpy as np

from . import _engine
from ._errors import InputError
from ._scene import Scene
from ._simulation import Simulation, read

INPUTS = ("torque", "target", "speed")
FIGURES = ("mu", "restitution", "compliance", "damping")


class Batch:
    """`n` simulations of one scene. Made by `signorini.batch`.

        b = sg.batch(scene, 64)
        x, u = b.bind("body.crate.position"), b.bind("motor.knee.torque")
        b.expand("material.wood.mu")[:] = np.linspace(0.1, 1, 64)
        for _ in range(100):
            u[:] = -x[:, 2]
            b.step()

    Each simulation goes to the same bits as if it ran alone.
    """

    def __init__(self, simulations: list[Simulation]) -> None:
        self.simulations = simulations
        self._outputs: dict[str, np.ndarray] = {}
        self._inputs: dict[str, tuple[np.ndarray, list[Callable[[float], None]], np.ndarray]] = {}

    def __len__(self) -> int:
        return len(self.simulations)

    def __getitem__(self, i: int) -> Simulation:
        return self.simulations[i]

    def __iter__(self) -> Iterator[Simulation]:
        return iter(self.simulations)

    def bind(self, path: str) -> np.ndarray:
        """An array with one row per simulation that every step brings up to date.

        `body.NAME.position`, `joint.NAME.angle`, `energy.friction`, `time`, …; `motor.NAME.torque`, `.target` and `.speed`
        are inputs: what is written there acts in the next step (NaN leaves the motor as it is).
        """
        what, _, rest = path.partition(".")
        name, _, figure = rest.rpartition(".")
        if what == "motor" and figure in INPUTS:
            return self._input(path, [self._motor(sim, name, figure) for sim in self], np.full(len(self), np.nan))
        if path not in self._outputs:
            self._outputs[path] = np.array([read(sim, path) for sim in self], dtype=float)
        return self._outputs[path]

    def expand(self, path: str) -> np.ndarray:
        """One value per simulation of `material.NAME.mu`, `.restitution`, `.compliance` or `.damping`, to be changed."""
        what, _, rest = path.partition(".")
        name, _, figure = rest.rpartition(".")
        if what not in ("material", "materials") or figure not in FIGURES:
            raise InputError(f"`{path}` cannot be expanded: wanted material.NAME.mu or another of {', '.join(FIGURES)}")
        now = np.array([getattr(sim.material(name), figure) for sim in self])
        return self._input(path, [self._material(sim, name, figure) for sim in self], now)

    def step(self, steps: int = 1) -> list[Any]:
        """Steps all simulations on all cores; the verdicts on their last steps."""
        if int(steps) < 1:
            raise InputError(f"steps is {steps}, wanted at least 1")
        for values, setters, last in self._inputs.values():
            for changed in np.flatnonzero(~np.isnan(values) & (values != last)):
                setters[changed](float(values[changed]))
            last[:] = values
        verdicts = _engine.step_all(self.simulations, int(steps))
        for path, array in self._outputs.items():
            for i, sim in enumerate(self):
                array[i] = read(sim, path)
        return verdicts

    def _input(self, path: str, setters: list[Callable[[float], None]], now: np.ndarray) -> np.ndarray:
        if path not in self._inputs:
            self._inputs[path] = (now, setters, now.copy())
        return self._inputs[path][0]

    @staticmethod
    def _motor(sim: Simulation, name: str, figure: str) -> Callable[[float], None]:
        motor = sim.motor(name)
        return lambda value: sim._set_motor(motor.id, figure, value)

    @staticmethod
    def _material(sim: Simulation, name: str, figure: str) -> Callable[[float], None]:
        material = sim.material(name)
        return lambda value: setattr(material, figure, value)


def batch(scene: Scene | Simulation, n: int, **settings: Any) -> Batch:
    """`n` simulations of a scene (settings as of `Scene.simulate`), or `n` copies of a simulation as it stands."""
    if int(n) < 1:
        raise InputError(f"n is {n}, wanted at least 1")
    if isinstance(scene, Simulation):
        return Batch([scene.copy() for _ in range(int(n))])
    return Batch([scene.simulate(**settings) for _ in range(int(n))])
