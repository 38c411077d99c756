"""Simulations against closed forms, and against themselves to the bit."""

import copy
import gc
import pickle
import threading

import numpy as np
import pytest
import signorini as sg


def pendulum():
    """A rod of 1 m and 1 kg that hangs from its end, with a motor."""
    scene = sg.Scene("arm")
    scene.add_body("arm", sg.Box([0.02, 0.02, 1.0]), mass=1.0, position=[0, 0, -0.5])
    scene.add_joint("shoulder", "revolute", ("ground", "arm"), axis=[0, 1, 0])
    scene.add_motor("shoulder", "shoulder")
    return scene


def crate(mu=0.5, velocity=(0, 0, 0)):
    """A cube of 1 m and 2 kg on the ground."""
    scene = sg.Scene("crate")
    scene.add_material("wood", mu=mu)
    scene.add_collider("ground", sg.HalfSpace(), material="wood")
    scene.add_body("crate", sg.Box([1, 1, 1]), mass=2.0, position=[0, 0, 0.5], velocity=velocity, material="wood")
    return scene


def test_pd_loop_holds_the_weight():
    sim = pendulum().simulate(dt=1e-3)
    while sim.time < 3.0:
        joint = sim.joint("shoulder")
        sim.motor("shoulder").torque = 60.0 * (-1.0 - joint.angle) - 8.0 * joint.rate
        verdict = sim.step()
        assert verdict.accepted and verdict.reasons == []
    # At rest the torque is that of the weight: m g l/2 sin φ. What is left decays with exp(−t/0.1 s).
    angle = sim.joint("shoulder").angle
    assert abs(60.0 * (-1.0 - angle) - 9.81 * 0.5 * np.sin(angle)) < 1e-3
    assert sim.motor("shoulder").effort == pytest.approx(60.0 * (-1.0 - angle), abs=1e-3)
    # The hinge carries the weight, alone.
    reaction = sim.joint("shoulder").reaction
    np.testing.assert_allclose(reaction.force, [0, 0, 9.81], atol=1e-2)
    assert reaction.unique.shape == (6,)


def test_a_callback_is_a_controller():
    def control(sim):
        joint = sim.joint("shoulder")
        sim.motor("shoulder").torque = 60.0 * (-1.0 - joint.angle) - 8.0 * joint.rate

    one, other = pendulum().simulate(dt=1e-3), pendulum().simulate(dt=1e-3)
    stretch = one.run(0.2, callback=control)
    for _ in range(200):
        control(other)
        other.step()
    assert stretch.steps == 200 and one.time == other.time
    assert np.array_equal(one.poses, other.poses)


def test_friction_stops_a_crate_where_it_should():
    sim = crate(mu=0.4, velocity=[1, 0, 0]).simulate(dt=1e-3)
    sim.run(0.5)
    # v²/(2 mu g); the step of 1 ms is worth half a step of travel at 1 m/s.
    assert sim.body("crate").position[0] == pytest.approx(1 / (2 * 0.4 * 9.81), abs=1e-3)
    assert np.abs(sim.body("crate").velocity).max() < 1e-6
    # ½ m v² went into friction.
    assert sim.energy["friction"] == pytest.approx(1.0, rel=1e-2)
    assert abs(sim.energy["residual"]) < 1e-9
    contacts = sim.contacts
    # Velocities are known to 1e-6 m/s: 2 kg of them in a step of 1 ms are 2e-3 N.
    assert contacts.force[:, 2].sum() == pytest.approx(2 * 9.81, abs=2e-3)
    assert set(contacts.status) <= {"open", "stick", "slip"} and (contacts.status == "stick").any()
    assert [sim.bodies[i] for i in (contacts.a[0], contacts.b[0])] == ["ground", "crate"]
    between = sim.forces_between("ground", "crate")
    np.testing.assert_allclose(between.force, [0, 0, 2 * 9.81], atol=2e-3)
    np.testing.assert_allclose(sim.forces_between("crate", "ground").force, -between.force)


def test_views_show_the_present_without_a_copy():
    sim = crate(velocity=[0.3, 0, 0]).simulate(dt=1e-3)
    poses, velocities = sim.poses, sim.velocities
    assert poses.shape == (2, 7) and velocities.shape == (2, 6)
    assert not poses.flags.writeable and not poses.flags.owndata
    before = poses.copy()
    sim.step()
    assert poses[1, 0] != before[1, 0]
    assert np.shares_memory(poses, sim.poses)
    np.testing.assert_array_equal(poses[1, :3], sim.body("crate").center_of_mass)
    np.testing.assert_array_equal(velocities[1, :3], sim.body("crate").center_of_mass_velocity)
    with pytest.raises(ValueError):
        poses[0, 0] = 1.0
    # After a restore the place is the same, and the memory outlives the simulation.
    state = sim.save()
    sim.step()
    sim.restore(state)
    np.testing.assert_array_equal(poses, sim.poses)
    last = poses.copy()
    del sim
    gc.collect()
    np.testing.assert_array_equal(poses, last)


def test_saved_pickled_and_copied_simulations_go_on_to_the_same_bits():
    sim = sg.load("cradle").simulate()
    sim.run(0.02)
    sim.apply_force(sim.bodies[-1], [0.1, 0, 0])
    others = [pickle.loads(pickle.dumps(sim)), copy.copy(sim), copy.deepcopy(sim), sim.copy()]
    state = sim.save()
    for _ in range(20):
        sim.step()
    for other in others:
        assert other.end_time == sim.end_time
        for _ in range(20):
            other.step()
        assert np.array_equal(other.poses, sim.poses) and np.array_equal(other.velocities, sim.velocities)
        assert other.energy == sim.energy
    end = sim.poses.copy()
    sim.restore(state)
    for _ in range(20):
        sim.step()
    assert np.array_equal(end, sim.poses)


def test_scenes_pickle():
    scene = crate()
    again = pickle.loads(pickle.dumps(scene))
    assert again == scene and again.bodies == ["ground", "crate"]
    loaded = sg.load("incline")
    assert pickle.loads(pickle.dumps(loaded)).end_time == loaded.end_time


def test_materials_gravity_and_forces_change_between_steps():
    sim = crate(mu=0.5).simulate(dt=1e-3)
    sim.step()
    sim.material("wood").mu = 0.0
    assert sim.material("wood").mu == 0.0
    sim.apply_force("crate", [2.0, 0, 0])
    sim.step()
    # The velocity at the end of the step is extrapolated with the acceleration of the step.
    assert sim.body("crate").velocity[0] == pytest.approx(1.5e-3, abs=1e-6)
    sim.step()
    # Without friction 2 N on 2 kg for a millisecond; velocities are known to 1e-6 m/s.
    assert sim.body("crate").velocity[0] == pytest.approx(1e-3, abs=1e-6)
    sim.gravity = [0, 0, 0]
    sim.body("crate").set_velocity([0, 0, 1])
    sim.step()
    # The acceleration of the step before, at rest, is known to 1e-6 m/s per step.
    assert sim.body("crate").velocity[2] == pytest.approx(1.0, abs=2e-6)
    sim.body("crate").set_pose([1, 2, 3])
    np.testing.assert_allclose(sim.body("crate").position, [1, 2, 3])


def test_threads_step_beside_each_other():
    sims = [crate(velocity=[0.3, 0, 0]).simulate(dt=1e-3) for _ in range(3)]
    threads = [threading.Thread(target=sim.run, args=(0.05,)) for sim in sims]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(np.array_equal(sims[0].poses, sim.poses) for sim in sims)


def test_a_run_ends_where_the_file_does():
    sim = sg.load("cradle").simulate()
    assert sim.end_time > 0
    with pytest.raises(TypeError, match="t_end"):
        crate().simulate().run()


URDF = """<robot name="two">
  <link name="base"><inertial><mass value="2"/><inertia ixx="0.01" iyy="0.01" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial>
    <collision><geometry><box size="0.2 0.2 0.2"/></geometry></collision></link>
  <link name="arm"><inertial><origin xyz="0 0 -0.25"/><mass value="1"/>
    <inertia ixx="0.02" iyy="0.02" izz="0.001" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <joint name="elbow" type="revolute"><parent link="base"/><child link="arm"/><axis xyz="0 1 0"/>
    <limit lower="-2" upper="2" effort="10" velocity="5"/></joint>
</robot>"""


def test_robots_come_from_urdf_and_mjcf(tmp_path):
    (tmp_path / "two.urdf").write_text(URDF)
    sim = sg.load(tmp_path / "two.urdf", fixed_base=True, at=[0, 0, 1], joints={"elbow": 0.5}).simulate(dt=1e-3)
    assert sim.joint("elbow").angle == pytest.approx(0.5, abs=1e-9)
    np.testing.assert_allclose(sim.body("base").position, [0, 0, 1], atol=1e-9)
    sim.run(0.02)
    # The pendulum falls back: I φ'' = −m g l sin φ about the joint; half a step is 2.5 % of the time.
    slope = -9.81 * 0.25 * np.sin(0.5) / (0.02 + 0.25**2)
    assert sim.joint("elbow").rate == pytest.approx(0.02 * slope, rel=5e-2)
    body = '<body pos="0 0 0.1"><freejoint/><geom type="box" size=".1 .1 .1" mass="1"/></body>'
    (tmp_path / "box.xml").write_text(f"<mujoco><worldbody>{body}</worldbody></mujoco>")
    box = sg.load(tmp_path / "box.xml", floor=True).simulate(dt=2e-3)
    box.run(0.1)
    # The floor is the second body: what it feels is the weight.
    assert abs(box.contacts.force[:, 2].sum()) == pytest.approx(9.81, abs=1e-3)
    with pytest.raises(sg.SceneFileError, match="no robot file"):
        sg.load("arch", floor=True)


def test_ctrl_c_keeps_the_state():
    import _thread

    sim = crate(velocity=[0.3, 0, 0]).simulate(dt=1e-3)
    timer = threading.Timer(0.3, _thread.interrupt_main)
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        sim.run(1e9)
    timer.join()
    assert sim.steps > 0 and sim.time == pytest.approx(sim.steps * 1e-3)
    assert sim.step().accepted


def test_pictures_need_no_display(tmp_path):
    sim = crate().simulate()
    sim.step()
    png = sim.picture(tmp_path / "crate.png", size=(160, 100), forces=True)
    assert png.startswith(b"\x89PNG") and (tmp_path / "crate.png").read_bytes() == png


@pytest.mark.parametrize(
    "act, error, text",
    [
        (lambda: sg.load("no_such_scene_at_all"), sg.SceneFileError, "there is no file and no scene"),
        (lambda: sg.load("incline", set={"nonsense": 1}), sg.SceneFileError, "nonsense"),
        (lambda: sg.parse("[bodies.x]\nmass = 'heavy'"), sg.SceneFileError, "scene.toml"),
        (lambda: crate().simulate().body("box"), sg.NotFoundError, "there is no body `box`; there are ground, crate"),
        (lambda: crate().simulate().body(7), sg.NotFoundError, "number 7"),
        (lambda: crate().simulate(dt=-1), sg.SceneError, "wanted > 0"),
        (lambda: crate().simulate(dt=float("nan")), sg.InputError, "finite"),
        (lambda: crate().simulate(solver="psoor"), sg.InputError, "did you mean `psor`"),
        (lambda: crate().simulate().restore(b"{}"), sg.RestoreError, "does not fit"),
        (lambda: pendulum().simulate().restore(crate().simulate().save()), sg.RestoreError, "another scene"),
        (lambda: setattr(pendulum().simulate().motor("shoulder"), "torque", float("inf")), sg.InputError, "finite"),
        (lambda: setattr(crate().simulate().material("wood"), "mu", -1), sg.InputError, "wanted a number ≥ 0"),
        (lambda: crate().simulate().apply_force("crate", [1, 2]), sg.InputError, "wanted 3"),
        (lambda: sg.Scene().add_body("x"), sg.InputError, "wanted a mass"),
        (lambda: sg.Scene().add_body("x", sg.HalfSpace(), mass=1), sg.SceneError, ""),
        (lambda: sg.Scene().add_body("x", sg.Sphere(-1), mass=1), sg.SceneError, "positive length"),
    ],
)
def test_errors_have_names_and_say_what_was_wanted(act, error, text):
    with pytest.raises(error) as caught:
        act()
    assert text in str(caught.value)
    assert isinstance(caught.value, sg.SignoriniError)


def test_a_step_that_may_not_be_wrong_stops_and_leaves_the_state():
    sim = sg.load("stack_ratio").simulate(solver="psor", max_work=1, policy="stop")
    before = sim.poses.copy()
    with pytest.raises(sg.NotAcceptedError, match="not accepted"):
        for _ in range(100):
            before = sim.poses.copy()
            sim.step()
    assert np.array_equal(before, sim.poses)
