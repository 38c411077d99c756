"""The solvers alone: problems with contact and friction from numpy and scipy.sparse."""

from __future__ import annotations

import os
from typing import Any, Iterable, Mapping

import numpy as np

from . import _engine
from ._engine import Solution
from ._errors import ProblemError
from ._scene import choose, dumps, number

KINDS = ("fc2d", "fc3d", "gfc2d", "gfc3d", "lcp", "mlcp", "relay", "gmp", "soclcp", "rfc3d", "grfc3d")
"""Kinds of Siconos' text files."""


def _csr(what: str, a: Any, columns: int | None = None) -> tuple[int, np.ndarray, np.ndarray, np.ndarray]:
    """A matrix (numpy, scipy.sparse) by compressed rows."""
    if hasattr(a, "tocsr"):
        a = a.tocsr().copy()
        a.sum_duplicates()
        a.sort_indices()
        return a.shape[1], a.indptr.astype(np.int64), a.indices.astype(np.int64), a.data.astype(float)
    try:
        dense = np.asarray(a, dtype=float)
    except (TypeError, ValueError):
        raise ProblemError(f"{what}: wanted a matrix of numbers") from None
    if dense.size == 0 and columns is not None:
        dense = dense.reshape(0, columns)
    if dense.ndim != 2:
        raise ProblemError(f"{what} has {dense.ndim} dimensions, wanted 2")
    rows, cols = np.nonzero(dense)
    starts = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=dense.shape[0]))])
    return dense.shape[1], starts.astype(np.int64), cols.astype(np.int64), np.ascontiguousarray(dense[rows, cols])


def _vector(what: str, x: Any) -> np.ndarray:
    try:
        return np.ascontiguousarray(x, dtype=float).ravel()
    except (TypeError, ValueError):
        raise ProblemError(f"{what}: wanted a list of numbers") from None


def _law(law: Any) -> tuple[str, float, float]:
    name, *rest = (law,) if isinstance(law, str) else tuple(law)
    if name in ("cone", "coulomb"):
        mu, rows = (*rest, 3)[:2] if rest else (None, 3)
        if mu is None:
            raise ProblemError(f"{name}: wanted ({name!r}, mu) or ({name!r}, mu, rows)")
        return name, float(mu), float(rows)
    if name == "interval":
        if len(rest) != 2:
            raise ProblemError("interval: wanted ('interval', lo, hi)")
        return name, float(rest[0]), float(rest[1])
    return str(name), 0.0, 0.0


class Problem(_engine.Problem):
    """One time step's problem: find v and r with

        H v = k + Jᵀ r,    u = J v + E r + w,    (u, r) of every block obey its law.

    `H` (n × n, symmetric positive definite) and `J` (m × n) are numpy or scipy.sparse matrices, `E` (m, ≥ 0) is a
    diagonal. `laws` has one entry per block of rows: "equality", "unilateral", ("interval", lo, hi), ("cone", mu[, rows])
    or ("coulomb", mu[, rows]); friction blocks have 3 rows (or 2), the normal first.

        p = sg.Problem(H=np.eye(3), k=[0, 1, -1], J=np.eye(3)[[2, 0, 1]], w=np.zeros(3), laws=[("coulomb", 0.5)])
        s = sg.solve(p, solver="newton")
        print(s.v, s.r, s.error_J, s.culprit)
    """

    def __new__(
        cls, H: Any = None, k: Any = None, J: Any = None, w: Any = None, laws: Iterable[Any] = (), E: Any = None,
        names: Iterable[str] = (), name: str = "problem", *, copy: Any = None, json: str | None = None,
    ) -> Problem:
        if copy is not None or json is not None:
            return super().__new__(cls, copy=copy, json=json)
        if H is None or k is None or J is None or w is None:
            raise TypeError("Problem() wants H, k, J, w and laws")
        h = _csr("H", H)
        e = None if E is None else _vector("E", E)
        arguments = h, _vector("k", k), _csr("J", J, h[0]), _vector("w", w), [_law(x) for x in laws], e
        return super().__new__(cls, *arguments, [str(x) for x in names], name)

    @classmethod
    def _of(cls, problem: _engine.Problem) -> Problem:
        return cls(copy=problem)

    def __repr__(self) -> str:
        return f"Problem({self.name!r}: {self.n} velocities, {self.m} rows, {len(self.laws)} blocks)"

    def _get(self, which: str, sparse: bool) -> Any:
        found = self._matrix(which)
        if found is None:
            return None
        rows, cols, starts, columns, values = found
        if sparse:
            from scipy.sparse import csr_matrix

            return csr_matrix((values, columns, starts), shape=(rows, cols))
        dense = np.zeros((rows, cols))
        dense[np.repeat(np.arange(rows), np.diff(starts)), columns] = values
        return dense

    def matrix(self, which: str, sparse: bool = False) -> Any:
        """`H`, `J` or, of a reduced problem, `W`: as a numpy array, or as scipy.sparse.csr_matrix."""
        return self._get(which, sparse)

    @property
    def H(self) -> Any:
        """Mass matrix (n × n), dense; None of a reduced problem."""
        return self._get("H", False)

    @property
    def J(self) -> Any:
        """Constraint Jacobian (m × n), dense; None of a reduced problem."""
        return self._get("J", False)

    @property
    def W(self) -> Any:
        """Delassus matrix (m × m) of a reduced problem, dense; otherwise None."""
        return self._get("W", False)

    @property
    def k(self) -> Any:
        """Momentum without reactions (n), N s."""
        return self._vector("k")

    @property
    def w(self) -> Any:
        """Velocity without motion (m), m/s."""
        return self._vector("w")

    @property
    def E(self) -> Any:
        """Compliance of each row (m), (m/s)/(N s)."""
        return self._vector("E")

    @property
    def q(self) -> Any:
        """Local velocities without reactions (m) of a reduced problem, m/s."""
        return self._vector("q")

    @property
    def laws(self) -> list[Any]:
        """The law of each block, as in the constructor."""
        def one(name: str, x: float, y: float) -> Any:
            return name if name in ("equality", "unilateral") else (name, x, y if name == "interval" else int(y))
        return [one(*law) for law in self._laws()]

    @property
    def solution(self) -> Solution | None:
        """The solution that the file held, judged; None if it held none."""
        known = self._known()
        return None if known is None else self.evaluate(*known)

    def with_law(self, law: str) -> Problem:
        """The same problem with its friction blocks under this law: `coulomb` (true friction) or `cone` (convex)."""
        return Problem._of(self._with_law(choose("law", law, ("coulomb", "cone"))))

    def evaluate(self, v: Any, r: Any) -> Solution:
        """How wrong a point is: its error in joules, and the culprit. `v` is ignored by a reduced problem."""
        return self._judge(_vector("v", v), _vector("r", r))

    def write(self, path: str | os.PathLike[str], solution: Solution | None = None, kind: str | None = None) -> None:
        """Writes the problem, with a solution if given: `.json`, `.hdf5` (FCLib), `.dat` (Siconos, with its kind)."""
        self._write(os.fspath(path), solution, kind)

    def __reduce__(self) -> tuple:
        return _problem, (type(self), self._json())

    def __copy__(self) -> Problem:
        return Problem._of(self)

    def __deepcopy__(self, memo: Any) -> Problem:
        return Problem._of(self)


def _problem(kind: type[Problem], json: str) -> Problem:
    return kind(json=json)


def read_problem(path: str | os.PathLike[str], kind: str | None = None) -> Problem:
    """Reads a problem file: FCLib (.hdf5), Siconos' text (.dat, its kind from `kind`, the folder or the text), .json.

        print(sg.solve(sg.read_problem("BoxesStack-i0001.hdf5"), "newton"))
    """
    return Problem._of(_engine.read_problem(os.fspath(path), kind))


def solve(
    problem: Problem,
    solver: str = "auto",
    tol: float = 1e-8,
    *,
    tol_velocity: float = 1e-6,
    tol_bound: float | None = None,
    max_work: int | None = None,
    deadline: float | None = None,
    facets: int | None = None,
    settings: Mapping[str, Any] | None = None,
    guess: tuple[Any, Any] | None = None,
    history: bool = False,
) -> Solution:
    """Solves a problem and says in joules how wrong the answer is.

    `solver`: one of `signorini.SOLVERS`. `tol`: largest error relative to the energy scale. `tol_velocity`: largest
    wrong velocity, m/s. `max_work`: sweeps, factorizations or pivots. `deadline`: seconds; the answer may then differ from
    run to run. `facets`: edges of the pyramid by which `pivot` replaces a cone. `guess`: v and r to begin with.
    `history`: keep work and error along the way.

    `settings` are the method's own, for the variants of the papers: `psor` has `acceleration` ("none" is the fixed-point
    method as published, "auto", {"subspace": {"depth": 4}}, {"anderson": {"depth": 4}}), `metric` ("mean", "two-scale"),
    `local` ("projection", "exact", "frozen", "auto"), `omega` (0…2), `joints`, `judge_every`, `parallel`; `pivot` has `facets`,
    `swept`; `newton` has `residual`; `interior-point` has `warm` and `path_alone`
    (no sweeps and Newton steps beside the path); `auto` has `certify`.

        published = dict(acceleration="none", metric="mean", local="projection", joints=False)
        s = sg.solve(p, "psor", tol=1e-6, settings=published, history=True)
    """
    for what, x in (("tol", tol), ("tol_velocity", tol_velocity)):
        if not number(x, what) > 0.0:
            raise ProblemError(f"{what} is {x}, wanted a number > 0")
    start = None if guess is None else (_vector("v", guess[0]), _vector("r", guess[1]))
    name = choose("solver", solver, _engine.SOLVERS)
    own = dict(settings or {}) if facets is None or name != "pivot" else {"facets": int(facets), **(settings or {})}
    return problem._solve(name, tol, tol_velocity, tol_bound, max_work, deadline, dumps("settings", own), start, history)
