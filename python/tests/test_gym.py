"""Environments of Gymnasium."""

import numpy as np
import pytest

from test_simulation import pendulum

gymnasium = pytest.importorskip("gymnasium")


def test_an_environment_passes_the_checker_and_repeats_itself():
    import signorini.gym
    from gymnasium.utils.env_checker import check_env

    env = signorini.gym.make(
        pendulum(), observe=["joint.shoulder.angle", "joint.shoulder.rate"], act={"motor.shoulder.torque": (-2, 2)},
        reward=lambda sim: -abs(sim.joint("shoulder").angle), t_end=0.1, steps=2, dt=1e-3,
    )
    check_env(env, skip_render_check=True)
    ends = []
    for _ in range(2):
        env.reset(seed=1)
        late = False
        while not late:
            seen, reward, _, late, info = env.step(np.array([1.0], dtype=np.float32))
            assert info["accepted"] and reward == -abs(seen[0])
        ends.append(seen)
    assert np.array_equal(*ends) and ends[0][0] > 0
    assert env.simulation.steps == 100
