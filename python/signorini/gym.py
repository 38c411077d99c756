"""Environments of Gymnasium (`pip install signorini[gym]`).

    import signorini.gym

    env = signorini.gym.make(
        scene, observe=["joint.hinge.angle", "joint.hinge.rate"], act={"motor.hinge.torque": (-2, 2)},
        reward=lambda sim: -abs(sim.joint("hinge").angle), t_end=2.0,
    )
"""

from __future__ import annotations

from typing import Any, Callable, Mapping, Sequence

import gymnasium
import numpy as np

from ._errors import InputError
from ._scene import Scene
from . import _engine
from ._simulation import Simulation


class Environment(gymnasium.Env):
    """A simulation as an environment. Every episode begins from the same state; it is deterministic."""

    metadata = {"render_modes": []}

    def __init__(
        self,
        simulation: Simulation,
        observe: Sequence[str],
        act: Mapping[str, tuple[float, float]],
        reward: Callable[[Simulation], float],
        *,
        t_end: float,
        steps: int = 1,
        terminated: Callable[[Simulation], bool] | None = None,
        reset: Callable[[Simulation, np.random.Generator], Any] | None = None,
    ) -> None:
        self.simulation = simulation
        self._observe, self._reward, self._terminated, self._reset = list(observe), reward, terminated, reset
        self._t_end, self._steps = float(t_end), int(steps)
        self._start = simulation.save()
        self._act = list(act)
        for path in self._act:
            _engine.Feed([simulation], path)  # names that cannot be set are refused here
        self._watch = _engine.Watch([simulation], self._observe, False)
        low, high = (np.array([ends[i] for ends in act.values()], dtype=np.float32) for i in (0, 1))
        self.action_space = gymnasium.spaces.Box(low, high, dtype=np.float32)
        size = len(self._observation())
        self.observation_space = gymnasium.spaces.Box(-np.inf, np.inf, (size,), dtype=np.float64)

    def _observation(self) -> np.ndarray:
        self._watch.update()
        return self._watch.array.reshape(-1).copy()

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[np.ndarray, dict[str, Any]]:
        """Goes back to the beginning; `reset=` of `make` may vary it with a generator of random numbers."""
        super().reset(seed=seed)
        self.simulation.restore(self._start)
        if self._reset is not None:
            self._reset(self.simulation, self.np_random)
        return self._observation(), {}

    def step(self, action: Any) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        """Acts, takes the steps, observes; `info` says how wrong the steps were."""
        for path, value in zip(self._act, np.asarray(action, dtype=float), strict=True):
            self.simulation._set(path, float(value))
        verdict = None
        for _ in range(self._steps):
            verdict = self.simulation.step()
        info = {"error_J": verdict.error_J, "accepted": verdict.accepted, "culprit": verdict.culprit} if verdict else {}
        done = bool(self._terminated(self.simulation)) if self._terminated else False
        late = self.simulation.time >= self._t_end - 1e-9 * self.simulation.dt
        return self._observation(), float(self._reward(self.simulation)), done, late, info


def make(
    scene: Scene, observe: Sequence[str], act: Mapping[str, tuple[float, float]], reward: Callable[[Simulation], float],
    *, t_end: float | None = None, steps: int = 1, terminated: Callable[[Simulation], bool] | None = None,
    reset: Callable[[Simulation, np.random.Generator], Any] | None = None, **settings: Any,
) -> Environment:
    """An environment of a scene.

    `observe`: figures such as `joint.hinge.angle` or `body.cart.position`. `act`: motors with the least and greatest value.
    `reward`, `terminated`: functions of the simulation. `steps`: time steps per action. Further settings as of
    `Scene.simulate`.
    """
    end = scene.end_time if t_end is None else t_end
    if end is None:
        raise InputError("wanted t_end=: the scene was made in code and does not say when it ends")
    simulation = scene.simulate(**settings)
    return Environment(simulation, observe, act, reward, t_end=end, steps=steps, terminated=terminated, reset=reset)
