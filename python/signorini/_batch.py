"""Many simulations of one scene, stepped on all cores."""

from __future__ import annotations

from typing import Any, Iterator, Mapping, Sequence

import numpy as np

from . import _engine
from ._errors import InputError
from ._scene import Scene
from ._engine import Verdict
from ._parts import FIGURES
from ._simulation import Simulation, _address

INPUTS = ("torque", "target", "speed")


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
        self._outputs: dict[str, _engine.Watch] = {}
        self._inputs: dict[str, _engine.Feed] = {}

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
        if path.startswith("motor.") and path.rpartition(".")[2] in INPUTS:
            return self._input(path)
        if path not in self._outputs:
            self._outputs[path] = _engine.Watch(self.simulations, [path], True)
        return self._outputs[path].array

    def expand(self, path: str) -> np.ndarray:
        """One value per simulation of `material.NAME.mu` (or `.restitution`, `.compliance`, `.damping`, `.torsion`, `.rolling`), to be changed."""
        if path.partition(".")[0] not in ("material", "materials"):
            raise InputError(f"`{path}` cannot be expanded: wanted material.NAME.mu or another of {', '.join(FIGURES)}")
        return self._input(path)

    def control(self, controller: Any, observe: Sequence[str] = (), act: Sequence[str] = (), *, every: float = 0.0) -> None:
        """The same C function or formulas for every simulation (see `Simulation.control`): it runs on all cores."""
        if not (controller is None or isinstance(controller, Mapping) or _address(controller) is not None):
            raise InputError("a batch wants a compiled controller or formulas; write Python between its steps")
        for sim in self.simulations:
            sim.control(controller, observe, act, every=every)

    def step(self, steps: int = 1) -> list[Verdict]:
        """Steps all simulations on all cores; the verdicts on their last steps."""
        if int(steps) < 1:
            raise InputError(f"steps is {steps}, wanted at least 1")
        for feed in self._inputs.values():
            feed.apply()
        verdicts = _engine.step_all(self.simulations, int(steps))
        for watch in self._outputs.values():
            watch.update()
        return verdicts

    def _input(self, path: str) -> np.ndarray:
        if path not in self._inputs:
            self._inputs[path] = _engine.Feed(self.simulations, path)
        return self._inputs[path].array


def batch(scene: Scene | Simulation, n: int, **settings: Any) -> Batch:
    """`n` simulations of a scene (settings as of `Scene.simulate`), or `n` copies of a simulation as it stands.

        b = sg.batch(sg.load("incline"), 64)
        b.step(10)
    """
    if int(n) < 1:
        raise InputError(f"n is {n}, wanted at least 1")
    if isinstance(scene, Simulation):
        return Batch([scene.copy() for _ in range(int(n))])
    return Batch([scene.simulate(**settings) for _ in range(int(n))])
