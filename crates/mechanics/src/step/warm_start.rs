//! Reactions from step to step: the guess of the next solve.
//!
//! Contacts are found again by their colliders and key; their impulses are kept as vectors of the
//! world and expressed anew in each frame, because the tangents of a contact may turn. Joint rows
//! keep their order.

use crate::assemble::contact::frame;
use crate::assemble::{Assembly, Source};
use crate::geometry::Contact;
use crate::problem::Solution;
use crate::scene::{ContactReaction, Reactions};
use glam::DVec3;
use std::cmp::Ordering;

/// Writes the guess: reactions of the last step, scaled to a step of length `h`; zero for what is
/// new.
pub fn recall(
    reactions: &Reactions,
    assembly: &Assembly,
    contacts: &[Contact],
    h: f64,
    guess: &mut Solution,
) {
    let rows = &assembly.problem.J.row_starts;
    guess.r.clear();
    guess.r.resize(assembly.problem.rows(), 0.0);
    let scale = if reactions.h > 0.0 { h / reactions.h } else { 0.0 };
    let joint_rows = rows[assembly.joint_blocks];
    if reactions.joints.len() == joint_rows {
        for (guess, r) in guess.r.iter_mut().zip(&reactions.joints) {
            *guess = scale * r;
        }
    }
    // Both lists are sorted: one walk along both.
    let mut old = reactions.contacts.iter().peekable();
    for (k, source) in assembly.sources.iter().enumerate().skip(assembly.joint_blocks) {
        let Source::Contact(_, _, c) = *source else { continue };
        let contact = &contacts[c as usize];
        let identity = (contact.colliders, contact.key);
        while old.next_if(|o| (o.colliders, o.key) < identity).is_some() {}
        if let Some(same) = old.peek().filter(|o| (o.colliders, o.key) == identity) {
            for (i, d) in (rows[k]..rows[k + 1]).zip(frame(contact.normal)) {
                guess.r[i] = scale * same.impulse.dot(d);
            }
        }
    }
    if assembly.bounded.is_empty() {
        return;
    }
    for (k, source) in assembly.sources.iter().enumerate().skip(assembly.joint_blocks) {
        let (Source::Torsion(_, _, c) | Source::Rolling(_, _, c)) = *source else { continue };
        let contact = &contacts[c as usize];
        let found = reactions.moments.binary_search_by(|o| order(o, contact));
        let moment = found.map_or(DVec3::ZERO, |at| scale * reactions.moments[at].impulse);
        let [n, t1, t2] = frame(contact.normal).map(|d| moment.dot(d));
        let row = rows[k];
        match source {
            Source::Torsion(..) => guess.r[row] = n,
            // The row that holds the bound is told by the bound.
            _ => (guess.r[row + 1], guess.r[row + 2]) = (t1, t2),
        }
    }
}

fn order(reaction: &ContactReaction, contact: &Contact) -> Ordering {
    (reaction.colliders, reaction.key).cmp(&(contact.colliders, contact.key))
}

/// Stores the reactions of a solved step.
pub fn store(
    reactions: &mut Reactions,
    assembly: &Assembly,
    contacts: &[Contact],
    h: f64,
    solution: &Solution,
) {
    let rows = &assembly.problem.J.row_starts;
    reactions.h = h;
    reactions.joints.clear();
    reactions.joints.extend_from_slice(&solution.r[..rows[assembly.joint_blocks]]);
    reactions.contacts.clear();
    for (k, source) in assembly.sources.iter().enumerate().skip(assembly.joint_blocks) {
        let Source::Contact(_, _, c) = *source else { continue };
        let contact = &contacts[c as usize];
        let directions = frame(contact.normal);
        let impulse: DVec3 =
            (rows[k]..rows[k + 1]).zip(directions).map(|(i, d)| d * solution.r[i]).sum();
        reactions.contacts.push(ContactReaction {
            colliders: contact.colliders,
            key: contact.key,
            impulse,
        });
    }
    reactions.moments.clear();
    for (k, source) in assembly.sources.iter().enumerate().skip(assembly.joint_blocks) {
        let (Source::Torsion(_, _, c) | Source::Rolling(_, _, c)) = *source else { continue };
        let contact = &contacts[c as usize];
        let (directions, row) = (frame(contact.normal), rows[k]);
        let first = usize::from(matches!(source, Source::Rolling(..)));
        let impulse: DVec3 =
            (first..rows[k + 1] - row).map(|i| directions[i] * solution.r[row + i]).sum();
        match reactions.moments.last_mut() {
            Some(last) if order(last, contact) == Ordering::Equal => last.impulse += impulse,
            _ => reactions.moments.push(ContactReaction {
                colliders: contact.colliders,
                key: contact.key,
                impulse,
            }),
        }
    }
    reactions.moments.sort_unstable_by_key(|o| (o.colliders, o.key));
}
