"""The solvers alone, against other solvers."""

import pickle

import numpy as np
import pytest
import signorini as sg


def quadratic(seed, n=12, m=8):
    """min ½ vᵀHv − kᵀv with Jv + w ≥ 0: H v = k + Jᵀ r, 0 ≤ J v + w ⊥ r ≥ 0."""
    random = np.random.default_rng(seed)
    a = random.normal(size=(n, n))
    return a @ a.T + n * np.eye(n), random.normal(size=n), random.normal(size=(m, n)), random.normal(size=m) - 0.5


@pytest.mark.parametrize("solver", ["auto", "interior-point", "pivot", "newton", "psor"])
def test_a_quadratic_program_agrees_with_scipy(solver):
    optimize = pytest.importorskip("scipy.optimize")
    for seed in range(3):
        H, k, J, w = quadratic(seed)
        # The dual: ½ rᵀWr + qᵀr over r ≥ 0, as non-negative least squares with W = LLᵀ.
        inverse = np.linalg.inv(H)
        # W of 8 rows and 12 velocities has full rank.
        L = np.linalg.cholesky(J @ inverse @ J.T)
        r, _ = optimize.nnls(L.T, -np.linalg.solve(L, J @ inverse @ k + w))
        s = sg.solve(sg.Problem(H, k, J, w, ["unilateral"] * len(w)), solver=solver, tol=1e-14, tol_velocity=1e-9)
        assert s.status == "converged" and s.accepted and s.error_J < 1e-12
        # A relative error of 1e-14 in energy is 1e-7 in velocities.
        np.testing.assert_allclose(s.r, r, atol=1e-6)
        np.testing.assert_allclose(s.v, inverse @ (k + J.T @ r), atol=1e-6)
        np.testing.assert_allclose(s.u, J @ s.v + w, atol=1e-12)


def test_sparse_and_dense_matrices_are_the_same_problem():
    sparse = pytest.importorskip("scipy.sparse")
    H, k, J, w = quadratic(5)
    laws = ["unilateral"] * len(w)
    a = sg.solve(sg.Problem(H, k, J, w, laws))
    b = sg.solve(sg.Problem(sparse.csc_matrix(H), k, sparse.coo_matrix(J), w, laws))
    assert np.array_equal(a.v, b.v) and np.array_equal(a.r, b.r)
    p = sg.Problem(H, k, J, w, laws)
    np.testing.assert_array_equal(p.matrix("J", sparse=True).toarray(), J)


def sliding(mu=0.5, law="coulomb"):
    """1 kg that falls at 1 m/s and slides at 3 m/s onto a plane."""
    return sg.Problem(np.eye(3), [3, 0, -1], np.eye(3)[[2, 0, 1]], np.zeros(3), [(law, mu)], names=["floor"])


@pytest.mark.parametrize("solver", ["auto", "newton", "psor"])
def test_friction_takes_mu_times_the_impact(solver):
    s = sg.solve(sliding(), solver=solver, tol=1e-12)
    np.testing.assert_allclose(s.r, [1, -0.5, 0], atol=1e-6)
    np.testing.assert_allclose(s.v, [2.5, 0, 0], atol=1e-6)
    assert s.culprit.startswith("floor")


def test_the_methods_of_the_papers_are_variants():
    H, k, J, w = quadratic(1)
    p = sg.Problem(H, k, J, w, ["unilateral"] * len(w))
    exact = sg.solve(p, "pivot", tol=1e-14)
    published = dict(acceleration="none", metric="mean", local="projection", joints=False, judge_every=1)
    plain = sg.solve(p, "psor", tol=1e-12, settings=published, history=True)
    np.testing.assert_allclose(plain.v, exact.v, atol=1e-5)
    # Without acceleration the error falls from sweep to sweep, and takes more of them.
    joules = [joule for _, joule in plain.history]
    assert len(joules) > 3 and joules[-1] < joules[0] and plain.work >= sg.solve(p, "psor", tol=1e-12).work
    # A pyramid of many edges comes close to the cone, one of few does not.
    cone = sliding(law="cone")
    true = sg.solve(cone, "interior-point", tol=1e-12)
    far = [np.abs(sg.solve(cone, "pivot", facets=n).v - true.v).max() for n in (3, 256)]
    assert far[1] < 1e-3 < far[0] or far[1] < far[0]
    # The path alone, from nothing, takes factorizations where sweeps or Newton steps would not.
    path = sg.solve(p, "interior-point", tol=1e-12, settings={"path_alone": True, "warm": "cold"})
    np.testing.assert_allclose(path.v, exact.v, atol=1e-5)
    assert path.work > sg.solve(p, "interior-point", tol=1e-12).work
    with pytest.raises(sg.InputError, match="wanted one of acceleration"):
        sg.solve(p, "psor", settings={"omgea": 1.0})
    with pytest.raises(sg.InputError, match="between 0 and 2"):
        sg.solve(p, "psor", settings={"omega": 3.0})


def test_the_associated_law_dilates():
    p = sliding(law="cone")
    s = sg.solve(p, solver="interior-point", tol=1e-12)
    # u lies in the dual cone: u_n = mu |u_t|.
    assert s.u[0] == pytest.approx(0.5 * abs(s.u[1]), abs=1e-5)
    assert p.laws == [("cone", 0.5, 3)] and p.with_law("coulomb").laws == [("coulomb", 0.5, 3)]


def test_a_point_is_judged_whoever_found_it():
    p = sliding()
    assert p.evaluate([2.5, 0, 0], [1, -0.5, 0]).error_J < 1e-28
    bad = p.evaluate([3, 0, -1], [0, 0, 0])
    # Doing nothing is wrong by the energy scale.
    assert not bad.accepted and bad.reasons and bad.error_relative == pytest.approx(1.0, rel=1e-6)


def test_other_laws():
    # A motor that should stop 1 m/s of 2 kg but may give no more than 0.5 N s.
    s = sg.solve(sg.Problem([[2.0]], [2.0], [[1.0]], [0.0], [("interval", -0.5, 0.5)]))
    assert s.r[0] == pytest.approx(-0.5) and s.v[0] == pytest.approx(0.75)
    s = sg.solve(sg.Problem([[2.0]], [2.0], [[1.0]], [0.0], ["equality"], E=[0.5]))
    # (1/2 + 1/2) r = −1.
    assert s.r[0] == pytest.approx(-1.0)


def test_files_come_back(tmp_path):
    p = sliding()
    s = sg.solve(p, tol=1e-12)
    for name in ["a.json", "a.hdf5"]:
        p.write(tmp_path / name, s)
        again = sg.read_problem(tmp_path / name)
        np.testing.assert_array_equal(again.H, p.H)
        np.testing.assert_array_equal(again.J, p.J)
        assert again.solution.error_J == pytest.approx(s.error_J, abs=1e-15)
    again = pickle.loads(pickle.dumps(p))
    assert again.laws == p.laws and np.array_equal(sg.solve(again).r, sg.solve(p).r)


def test_the_problem_of_a_step_is_solved_by_others():
    sim = sg.load("stack").simulate()
    sim.run(0.05)
    p = sim.problem()
    assert p.m == sim.verdict.rows and len(p.row_names) == p.m
    s = sg.solve(p, solver="newton", tol=1e-12)
    assert s.status == "converged"
    # Both are within their tolerances of the one velocity.
    assert sg.solve(p).error_relative < 1e-8


@pytest.mark.parametrize(
    "act, text",
    [
        (lambda: sg.Problem(np.eye(2), [1], np.eye(2), [0, 0], ["equality"] * 2), "k has 1, wanted 2"),
        (lambda: sg.Problem(np.eye(2), [1, 1], np.eye(2), [0, 0], ["equality"]), "J has 2 rows, the laws have 1"),
        (lambda: sg.Problem(np.eye(1), [1], [[1.0]], [np.nan], ["equality"]), "w[0] is NaN"),
        (lambda: sg.Problem(-np.eye(1), [1], [[1.0]], [0], ["equality"]), "not positive definite"),
        (lambda: sg.Problem(np.eye(1), [1], [[1.0]], [0], ["glue"]), "there is no law `glue`"),
        (lambda: sg.Problem(np.eye(3), [1, 1, 1], np.eye(3), [0, 0, 0], [("coulomb", -1)]), "mu"),
        (lambda: sg.Problem(np.eye(1), [1], [[1.0]], [0], [("interval", 1, 0)]), "lo"),
        (lambda: sg.read_problem("/does/not/exist.json"), "exist.json"),
        (lambda: sliding().evaluate([0], [0]), "wanted 3 and 3"),
    ],
)
def test_faulty_problems_name_the_culprit(act, text):
    with pytest.raises(sg.ProblemError) as caught:
        act()
    assert text in str(caught.value)


def test_a_method_that_does_not_treat_a_problem_says_so():
    with pytest.raises(sg.UnsupportedError, match="does not treat"):
        sg.solve(sliding(), solver="direct")
