//! A lint of plans: rules that need no dependency graph.

mod end;
mod lanes;
mod order;
mod targets;
mod usage;

use crate::plan::Plan;
use serde::Serialize;
use std::fmt;

/// The rules of the lint.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Rule {
    /// The phases of the scheme, in its order, each at least once.
    PhaseOrder,
    /// A wave ends at the barriers that its phase needs, in their order.
    Barriers,
    /// A phase writes its own kind of attribute only.
    WriteKind,
    /// A write goes to a device and a port that exist and are of the right kind.
    Target,
    /// A device understands the form of the write.
    Capability,
    /// A forwarding block fits the table, and its entries name ports of the switch.
    Block,
    /// No two writes of a wave set the same value.
    Twice,
    /// The two lane sets divide the data lanes, and every link has them.
    LaneSets,
    /// Between split and restore, the service levels of a half keep to its own lanes.
    OwnLanes,
    /// Service levels use data lanes that every link has.
    DataLanes,
    /// Forwarding entries in use stay as they are before the swap.
    InUse,
    /// The swap moves every source, the answers of the SA, and where every port believes the SM to be.
    EverySource,
    /// The end ports that the change cuts off are listed as stranded, and no others.
    Stranded,
    /// In the end every LID in use leads to its owner, over the links that stay.
    Installed,
    /// In the end service levels are spread over all lanes as before.
    Restored,
    /// Ports carry data again before they are needed.
    PortsActive,
    /// Every assumption of the scheme is named.
    Assumptions,
}

/// One rule broken at one place.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, schemars::JsonSchema)]
pub struct Finding {
    /// The rule.
    pub rule: Rule,
    /// The wave, where there is one.
    pub wave: Option<String>,
    /// The finding, with its values.
    pub what: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let wave = self.wave.as_deref().unwrap_or("plan");
        write!(f, "{wave}: {:?}: {}", self.rule, self.what)
    }
}

/// Judges a plan; an empty result means that no rule is broken.
pub fn lint(plan: &Plan) -> Vec<Finding> {
    let mut findings = Findings::default();
    order::check(plan, &mut findings);
    targets::check(plan, &mut findings);
    lanes::check(plan, &mut findings);
    usage::check(plan, &mut findings);
    end::check(plan, &mut findings);
    findings.0
}

#[derive(Default)]
struct Findings(Vec<Finding>);

impl Findings {
    fn plan(&mut self, rule: Rule, what: String) {
        self.0.push(Finding { rule, wave: None, what });
    }

    fn wave(&mut self, rule: Rule, wave: &str, what: String) {
        self.0.push(Finding { rule, wave: Some(wave.to_string()), what });
    }
}
