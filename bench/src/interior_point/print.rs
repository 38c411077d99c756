//! Prints the tables of this bench.

use super::peer::{LONG_SOLVE_SECONDS, MAX_PEER_SECONDS, MEASURED_ROUNDS, WANTED_VELOCITY_ERROR};
use super::rows::{Balls, PeerRow, StackRow, StoredRow, WarmRow};

pub(super) fn balls(rows: &[Balls]) {
    println!(
        "\nBalls in the box, iterations (factorizations) per step; thesis, frictionless: 17.2, \
            17.9, 17.7, 17.8"
    );
    println!(
        "Without a guess: sweeps (a thirtieth to a two-hundred-and-fiftieth of a factorization \
            each), then Newton steps or the path."
    );
    println!(
        "In the last columns the path alone, as in the thesis, every tenth step. Contacts without \
            friction: as many as in the thesis, the nearest pairs"
    );
    println!(
        "{:>8} {:>9} {:>6} {:>9} {:>6} {:>4} {:>7} {:>9}   {:24} {:>6} {:>4}",
        "spheres",
        "friction",
        "steps",
        "contacts",
        "mean",
        "max",
        "sweeps",
        "ms",
        "worst r_p/n, r_d/n, mu",
        "path",
        "max"
    );
    for r in rows {
        let t = &r.residuals;
        println!(
            "{:>8} {:>9} {:>6} {:>9.0} {:>6.1} {:>4} {:>7.0} {:>9.1}   {:24} {:>6.1} {:>4}",
            r.spheres,
            r.friction,
            r.steps,
            r.contacts_mean,
            r.iterations_mean,
            r.iterations_max,
            r.sweeps_mean,
            r.ms_mean,
            format!("{:.0e}, {:.0e}, {:.0e}", t.rp_ineq, t.rd, t.mu),
            r.path_mean,
            r.path_max
        );
    }
}

pub(super) fn warm(rows: &[WarmRow]) {
    println!(
        "\nWarm starts, total factorizations: none, partial, full by the path alone (thesis, table \
            5.1: 935/927/747, 720/515/90, 499/370/81); best: as it is used"
    );
    println!(
        "{:>18} {:>6} {:>6} {:>8} {:>6} {:>6}",
        "scene", "calls", "none", "partial", "full", "best"
    );
    for r in rows {
        println!(
            "{:>18} {:>6} {:>6} {:>8} {:>6} {:>6}",
            r.scene, r.calls, r.none, r.partial, r.full, r.best
        );
    }
}

pub(super) fn stacks(rows: &[StackRow]) {
    println!("Spheres stacked on vertical guides, at rest (thesis: 10^n up to 15 spheres)");
    println!("{:>22} {:>4} {:>5} {:>5} {:>10}", "case", "n", "fact.", "path", "|v| m/s");
    for r in rows {
        let mark = if r.converged { "" } else { "  not converged" };
        let path = if r.path_converged { r.path.to_string() } else { "-".into() };
        println!(
            "{:>22} {:>4} {:>5} {path:>5} {:>10.1e}{mark}",
            r.case, r.n, r.iterations, r.v_error
        );
    }
}

pub(super) fn stored(rows: &[StoredRow]) {
    if rows.is_empty() {
        return;
    }
    println!("\nStored problems, cone law, cold");
    println!("{:36} {:>5} {:>9} {:>11} {:>9}", "problem", "fact.", "joule/e0", "|dv| m/s", "ms");
    for r in rows {
        let mark = if r.converged { "" } else { "  not converged" };
        println!(
            "{:36} {:>5} {:>9.1e} {:>11.1e} {:>9.1}{mark}",
            r.problem, r.factorizations, r.relative, r.v_error, r.ms
        );
    }
    let sum: u64 = rows.iter().map(|r| r.factorizations).sum();
    let most = rows.iter().map(|r| r.factorizations).max().unwrap_or(0);
    println!("{} problems: mean {:.1}, most {most}", rows.len(), sum as f64 / rows.len() as f64);
}

pub(super) fn peers(rows: &[PeerRow]) {
    if rows.is_empty() {
        println!("\nclarabel: not built in (feature bench-peers)");
        return;
    }
    println!(
        "\nBeside clarabel, cold, set-up included; best of {MEASURED_ROUNDS} rounds, of one above \
            {LONG_SOLVE_SECONDS} s"
    );
    println!(
        "Each to {WANTED_VELOCITY_ERROR:.0e} m/s if it gets there; clarabel's tolerance is not \
            tightened where a run takes more than {MAX_PEER_SECONDS} s"
    );
    println!(
        "{:36} {:>6} {:>9} {:>9} {:>7} {:>5} {:>5} {:>9} {:>9}",
        "problem", "rows", "ours ms", "its ms", "ratio", "fact.", "its", "our |dv|", "its |dv|"
    );
    for r in rows {
        println!(
            "{:36} {:>6} {:>9.2} {:>9.2} {:>7.1} {:>5} {:>5} {:>9.0e} {:>9.0e}",
            r.problem,
            r.rows,
            r.ours_ms,
            r.clarabel_ms,
            r.ratio,
            r.ours_factorizations,
            r.clarabel_iterations,
            r.ours_v_error,
            r.clarabel_v_error
        );
    }
    if let Some(least) =
        rows.iter().filter(|r| r.rows > 100).min_by(|a, b| a.ratio.total_cmp(&b.ratio))
    {
        println!("least ratio above 100 rows: {:.2} ({})", least.ratio, least.problem);
    }
    for spheres in ["595", "1190"] {
        let named = |r: &&PeerRow| {
            r.problem.contains(spheres) && r.problem.contains("mu0.5")
                || r.problem.starts_with(&format!("{spheres} bodies"))
        };
        if let Some(least) = rows.iter().filter(named).min_by(|a, b| a.ratio.total_cmp(&b.ratio)) {
            println!(
                "least ratio with {spheres} spheres and friction: {:.2} ({})",
                least.ratio, least.problem
            );
        }
    }
}
