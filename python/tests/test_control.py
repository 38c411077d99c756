"""Controllers: Python, C and formulas give the same motion."""

import ctypes

import numpy as np
import pytest
import signorini as sg

from test_simulation import pendulum

SEEN, SET = ["joint.shoulder.angle", "joint.shoulder.rate"], ["motor.shoulder.torque"]


@ctypes.CFUNCTYPE(None, ctypes.c_double, ctypes.POINTER(ctypes.c_double), ctypes.POINTER(ctypes.c_double))
def in_ctypes(t, x, u):
    u[0] = 60.0 * (-1.0 - x[0]) - 8.0 * x[1]


def in_python(sim):
    joint = sim.joint("shoulder")
    sim.motor("shoulder").torque = 60.0 * (-1.0 - joint.angle) - 8.0 * joint.rate


def reference(steps=200):
    sim = pendulum().simulate(dt=1e-3)
    for _ in range(steps):
        in_python(sim)
        sim.step()
    return sim


def test_a_function_of_ctypes_is_the_same_controller():
    sim = pendulum().simulate(dt=1e-3)
    sim.control(in_ctypes, SEEN, SET)
    sim.run(0.2)
    assert np.array_equal(sim.poses, reference().poses)
    # A copy keeps it; a pickle does not know the address.
    other = sim.copy()
    sim.step()
    assert np.array_equal(other.step().time, sim.time) and np.array_equal(other.poses, sim.poses)


def test_a_function_of_numba_is_the_same_controller():
    numba = pytest.importorskip("numba")

    @numba.cfunc(sg.CONTROLLER)
    def pd(t, x, u):
        u[0] = 60.0 * (-1.0 - x[0]) - 8.0 * x[1]

    sim = pendulum().simulate(dt=1e-3)
    sim.control(pd, SEEN, SET)
    sim.run(0.2)
    np.testing.assert_allclose(sim.poses, reference().poses, rtol=0, atol=1e-12)
    # The interpreter is not needed: a batch runs it on all cores.
    batch = sg.batch(pendulum(), 4, dt=1e-3)
    batch.control(pd, SEEN, SET)
    angle = batch.bind("joint.shoulder.angle")
    batch.step(200)
    assert np.all(angle == sim.joint("shoulder").angle)


def test_a_python_function_acts_in_steps_and_runs():
    a, b = pendulum().simulate(dt=1e-3), pendulum().simulate(dt=1e-3)
    a.control(in_python)
    b.control(in_python)
    a.run(0.2)
    for _ in range(200):
        b.step()
    assert np.array_equal(a.poses, reference().poses) and np.array_equal(b.poses, a.poses)
    a.control(None)
    a.motor("shoulder").torque = 0.0
    a.step()
    assert a.motor("shoulder").effort == 0.0


def test_a_sampled_controller_holds_its_value():
    times = []

    @ctypes.CFUNCTYPE(None, ctypes.c_double, ctypes.POINTER(ctypes.c_double), ctypes.POINTER(ctypes.c_double))
    def clock(t, x, u):
        times.append(t)
        u[0] = t

    sim = pendulum().simulate(dt=1e-3)
    sim.control(clock, [], SET, every=5e-3)
    sim.run(0.02)
    np.testing.assert_allclose(times, [0.0, 0.005, 0.01, 0.015], atol=1e-12)
    assert sim.motor("shoulder").effort == pytest.approx(0.015)


def test_wrong_controllers_are_named():
    sim = pendulum().simulate(dt=1e-3)
    with pytest.raises(sg.NotFoundError, match="there is no joint `elbow`"):
        sim.control(in_ctypes, ["joint.elbow.angle"], SET)
    with pytest.raises(sg.InputError, match="cannot be set"):
        sim.control(in_ctypes, SEEN, ["joint.shoulder.angle"])
    with pytest.raises(sg.InputError, match="no controller"):
        sim.control("torque")
    with pytest.raises(sg.InputError, match="compiled"):
        sg.batch(pendulum(), 2).control(in_python)

    @ctypes.CFUNCTYPE(None, ctypes.c_double, ctypes.POINTER(ctypes.c_double), ctypes.POINTER(ctypes.c_double))
    def broken(t, x, u):
        u[0] = float("nan")

    sim.control(broken, SEEN, SET)
    before = sim.poses.copy()
    with pytest.raises(sg.InputError, match=r"motor\.shoulder\.torque.*wanted a finite number"):
        sim.step()
    assert np.array_equal(before, sim.poses) and sim.steps == 0
