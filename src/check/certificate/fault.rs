//! Why a certificate is not accepted.

use crate::ids::Lid;

/// The first thing that is wrong. Moments are named as in the plan; the one before the first wave is `steady`.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum CertificateFault {
    /// The file is not of this format.
    #[error("this is no certificate: {0}")]
    Form(String),
    /// Some byte is not as it was written.
    #[error("the certificate was changed or cut off: its last line says SHA-256 {stated}, its text has {found}")]
    Altered {
        /// The digest in the last line.
        stated: String,
        /// The text found in its place.
        found: String,
    },
    /// It is for another fabric.
    #[error("the certificate is for a plan of another fabric: for digest {certificate}, the plan has {plan}")]
    OtherFabric {
        /// The digest in the certificate.
        certificate: String,
        /// The digest in the plan.
        plan: String,
    },
    /// It is for another plan, or the plan was changed.
    #[error(
        "the certificate is for another plan, or the plan's file was changed since: for SHA-256 {certificate}, the file \
         has {plan}"
    )]
    OtherPlan {
        /// The digest in the certificate.
        certificate: String,
        /// The digest of the file.
        plan: String,
    },
    /// The certificate makes a false statement about the plan.
    #[error("the certificate and the plan differ in {what}: {certificate} against {plan}")]
    Differs {
        /// In what.
        what: &'static str,
        /// As the certificate has it.
        certificate: String,
        /// As the plan has it.
        plan: String,
    },
    /// The evidence ends too early or too late, or has an impossible value.
    #[error("the evidence of the certificate is damaged: {0}")]
    Evidence(String),
    /// The barriers of the plan cannot be true.
    #[error("wave {wave}: {what}")]
    Plan {
        /// The wave.
        wave: String,
        /// The fault.
        what: String,
    },
    /// A packet can be where the certificate lists none.
    #[error(
        "{moment}: packets to LID {lid} can pass from {from} to {to}, and the certificate does not list them there"
    )]
    NotClosed {
        /// The moment.
        moment: String,
        /// The DLID.
        lid: Lid,
        /// The channel that they stand in.
        from: String,
        /// The channel and the lanes that they can take.
        to: String,
    },
    /// A packet can come to a switch that discards it.
    #[error("{moment}: {switch} discards packets to LID {lid}: {what}")]
    Hole {
        /// The moment.
        moment: String,
        /// The switch.
        switch: String,
        /// The DLID.
        lid: Lid,
        /// Why.
        what: String,
    },
    /// A packet can arrive at a port that does not own its DLID.
    #[error("{moment}: packets to LID {lid} arrive at {at}, which does not own it")]
    WrongArrival {
        /// The moment.
        moment: String,
        /// The DLID.
        lid: Lid,
        /// The place where they arrive.
        at: String,
    },
    /// A packet can be sent onto a lane that its link lacks.
    #[error("{moment}: packets to LID {lid} are sent into {channel} on a virtual lane that it does not carry")]
    NotCarried {
        /// The moment.
        moment: String,
        /// The DLID.
        lid: Lid,
        /// The channel.
        channel: String,
    },
    /// A lane waits for one that is not numbered higher.
    #[error("{moment}: {from} (number {low}) can wait for {to} (number {high}): numbers must rise")]
    NotRising {
        /// The moment.
        moment: String,
        /// The lane that packets stand in.
        from: String,
        /// Its number.
        low: u32,
        /// The lane that they wait for.
        to: String,
        /// Its number.
        high: u32,
    },
    /// The plan drains less than must run empty.
    #[error("{moment}: {what}")]
    Drain {
        /// The moment.
        moment: String,
        /// The part that is omitted.
        what: String,
    },
}
