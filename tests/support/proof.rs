//! Proofs where there is nobody to wait for.

use reconfig::drain::Verdict;

/// The proof of a judge that has nobody to ask.
pub fn proof<P>(verdict: Verdict<P>) -> P {
    match verdict {
        Verdict::Proof(proof) => proof,
        Verdict::Pending | Verdict::NoVerdict(_) => panic!("with nobody to wait for, there is a proof at once"),
    }
}
