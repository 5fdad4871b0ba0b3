//! Definitions of the terms of a page that a reader may not know, one sentence each, for those that the page uses.

use maud::{Markup, html};

/// A word as pages spell it, its other spellings, and what it means. The longer account is docs/GLOSSARY.md.
pub(super) type Entry = (&'static str, &'static [&'static str], &'static str);

/// In the order of letters.
const WORDS: [Entry; 27] = [
    (
        "barrier",
        &["barriers"],
        "What must hold before the next wave is written, such as that every write is acknowledged.",
    ),
    ("black hole", &["black holes"], "A place at which packets to some destination have no way on, and are discarded."),
    (
        "change by scheme double, ordered, static, in-place",
        &[
            "scheme double",
            "scheme ordered",
            "scheme static",
            "scheme in-place",
            "double",
            "ordered",
            "in-place",
            "auto",
        ],
        "Double keeps old and new routing on lanes of their own, and hosts move from one to the other. Ordered writes \
         forwarding tables alone, in an order of which every mixture is proved. Static stops all traffic meanwhile. \
         In-place writes the tables under traffic in any order. Auto takes the cheapest that is proved.",
    ),
    ("channel", &["channels"], "One direction of a cable."),
    (
        "credit loop",
        &["credit loops"],
        "A circle of lanes in which each can wait for the next: packets in it may never move again.",
    ),
    (
        "cut off",
        &["cuts off", "cut end ports off"],
        "Without any way left to the subnet manager: only another cable helps.",
    ),
    (
        "data VL",
        &["data VLs", "VL"],
        "A virtual lane: each cable has several, and a packet in one does not block those in others.",
    ),
    ("deadlock", &["deadlocked"], "Packets wait for each other in a circle, and none of them ever moves again."),
    ("dependency", &["dependencies"], "A packet that holds the first of two lanes may wait for the second."),
    ("DLID", &[], "The LID of the destination of a packet."),
    ("end port", &["end ports"], "A port of a host, at the end of a cable."),
    (
        "gap in delivery",
        &["longest gap in delivery"],
        "The time in which no packet at all arrives at any end port, from the event until the change is complete.",
    ),
    ("glance", &[], "A look at what the switches report as changed, which finds what was lost."),
    (
        "half",
        &["lower half", "upper half", "other half", "new half"],
        "Each end port owns an even number of LIDs: sources send to one half of them, and a change by scheme double \
         prepares the other.",
    ),
    ("knot", &["knots"], "Lanes of which each can wait for each, in one step or in many."),
    ("lane", &["lanes"], "One direction of a cable on one virtual lane."),
    ("LID", &["LIDs"], "The address of a port within a subnet. A port owns 2 to the power of its LMC."),
    ("p50, p99", &["p99", "p50"], "Half of the packets, and 99 of a hundred, took no longer than this."),
    (
        "SL",
        &["SLs", "service level", "service levels"],
        "Service level: a number in each packet, by which ports choose its virtual lane.",
    ),
    ("SM", &["subnet manager"], "Subnet manager: the program that gives a subnet its addresses and tables."),
    ("SMP", &["SMPs"], "A packet by which the subnet manager reads or writes a device."),
    ("standby", &[], "Another subnet manager that waits to take over."),
    ("stranded", &[], "Packets from or to end ports that left or are cut off: no routing could have delivered them."),
    (
        "sweep",
        &["sweeps", "swept"],
        "The discovery of the whole subnet. A light one asks each switch whether something changed.",
    ),
    (
        "trap",
        &["traps"],
        "A message by which a device tells the subnet manager that something changed; 128 says that a link did.",
    ),
    ("virtual layer", &["virtual layers"], "A group of lanes that has no circle by itself; some engines need several."),
    ("wave", &["waves"], "Writes that may take effect in any order. It ends when its barriers are passed."),
];

/// Names of assumptions, which are words as well.
const ASSUMPTIONS: [Entry; 13] = [
    (
        "agents-keep-the-protocol",
        &[],
        "Agents in devices report lanes truly, and pass on the tokens that show a lane empty.",
    ),
    ("answers-are-legal", &[], "Subnet administration answers each client on a level and to a LID of one half."),
    (
        "counters-are-untouched",
        &[],
        "Nobody else resets the counters by which the manager sees that a level is not used any more.",
    ),
    ("entries-decide", &[], "A switch sends a packet where its tables say: adaptive routing is off."),
    (
        "fenced-lanes-run-empty",
        &[],
        "What an end port had in a lane before it was fenced has left within the time given by --settle.",
    ),
    ("fences-discard", &[], "An end port discards what its host sends on a service level that is mapped to VL 15."),
    ("initialize-discards", &[], "A port in state INITIALIZE discards the data that it holds and that comes."),
    ("lifetimes-are-enforced", &[], "A switch discards what is older than the lifetime that it reports."),
    ("no-multicast", &[], "Nobody sends multicast packets during the change."),
    (
        "reserved-level-is-kept",
        &[],
        "Multicast, and management other than SMPs to and from switches, are on the level reserved for them, alone.",
    ),
    ("spare-half-unused", &[], "Nobody sends to the half of LIDs that is not in use."),
    ("switch-management-paused", &[], "Nobody sends management packets other than SMPs to switches during the change."),
    ("turned-back-is-discarded", &[], "A switch discards a packet that would leave by the port it came in by."),
];

/// Headings of published tables, of which some are everyday words elsewhere.
pub(super) const STUDIES: [Entry; 13] = [
    (
        "band",
        &["bands"],
        "The range around a published figure within which ours counts as the same. Those of seed-000 follow from how \
         our fabrics scatter, and were set by judgement only where a row has too few fabrics to know that; those of \
         other studies were set by judgement, from what the paper tells of its method. docs/REPRODUCE.md tells how.",
    ),
    ("best", &["best +%"], "The best of all heuristics, for each destination."),
    ("color/L, color/S", COLOURS, "Graph colouring: paths with the most splits first (L), or with the fewest (S)."),
    ("conf.", &[], "Configuration: the machines and the switches of a row's fabrics."),
    ("dsatur", &["dsatur +%"], "Graph colouring: the most constrained path first."),
    (
        "explicit, renaming, separate",
        SEPARATE,
        "Three ways to choose paths and LIDs: one LID for each way to a \
        machine (fully explicit routing), more LIDs only where ways conflict (renaming), and paths that are selected \
        first and given LIDs afterwards.",
    ),
    ("fewest", &[], "What the exact solver found: no heuristic has fewer."),
    ("greedy", &["greedy +%"], "First-fit renaming: each path takes the first LID that it fits."),
    (
        "in order",
        &["loads in order"],
        "Whether our figures have the order of the paper's: LIDs of color/L, greedy and \
        color/S; loads of separate, renaming and explicit.",
    ),
    (
        "least",
        &[],
        "The bound that the exact solver proved: nothing has fewer. Where it is also what was found, it is \
        the optimum.",
    ),
    ("new", &[], "Forwarding entries that renaming adds, for further LIDs of a destination."),
    ("original", &[], "Forwarding entries for the first LID of each destination, which every routing needs."),
    ("s-m/L, s-m/S", SPLITS, "Split and merge: the most used switches first (L), or the least used (S)."),
];
const COLOURS: &[&str] = &["color/L", "color/S", "color/L +%", "color/S +%"];
const SEPARATE: &[&str] = &["explicit load", "renaming load", "separate load"];
const SPLITS: &[&str] = &["s-m/L", "s-m/S", "s-m/L +%", "s-m/S +%"];

/// The words that a page uses, folded; `own` are those that only pages like it explain.
pub(super) fn words(page: &Markup, own: &'static [Entry]) -> Markup {
    let text = text_of(&page.0);
    let is_used = |entry: &&Entry| spellings(entry).any(|own| has(&text, own));
    let mut used: Vec<&Entry> = WORDS.iter().chain(own).filter(is_used).collect();
    used.sort_by_key(|(word, ..)| word.to_lowercase());
    used.extend(ASSUMPTIONS.iter().filter(is_used));
    folded(&used)
}

/// These words, by any of their spellings.
pub(super) fn of(wanted: &[&str]) -> Markup {
    folded(&WORDS.iter().filter(|entry| spellings(entry).any(|own| wanted.contains(&own))).collect::<Vec<_>>())
}

fn spellings(entry: &Entry) -> impl Iterator<Item = &'static str> {
    let (word, others, _) = *entry;
    [word].into_iter().chain(others.iter().copied())
}

fn folded(entries: &[&Entry]) -> Markup {
    html! {
        @if !entries.is_empty() {
            section {
                h2 { "Words" }
                details {
                    summary { "What words of this page mean: " (entries.len()) }
                    dl class="words" { @for (word, _, meaning) in entries { dt { (word) } dd { (meaning) } } }
                }
            }
        }
    }
}

/// What a reader sees of markup.
fn text_of(markup: &str) -> String {
    let parts = markup.split('<').enumerate();
    let text = |(rank, part): (usize, &str)| match part.split_once('>') {
        Some((_, text)) if rank > 0 => text.to_string(),
        _ => part.to_string(),
    };
    parts.map(text).collect::<Vec<_>>().join(" ")
}

/// Whether a text has a word, not as a part of another.
fn has(text: &str, word: &str) -> bool {
    let is_of_word = |c: char| c.is_alphanumeric() || c == '-' || c == '_';
    text.match_indices(word)
        .any(|(at, _)| !text[..at].ends_with(is_of_word) && !text[at + word.len()..].starts_with(is_of_word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_explains_the_words_that_it_uses() {
        let page = html! { h2 class="wave" { "Three SMPs" } p { "none by cut-off, of a Sweeper, in the fast lane" } };
        let told = words(&page, &[]).into_string();
        let explained: Vec<&str> = told.split("<dt>").skip(1).filter_map(|rest| rest.split('<').next()).collect();
        assert_eq!(explained, ["lane", "SMP"]);
        assert_eq!(words(&html! { p { "nothing" } }, &[]).into_string(), "");
        let plan = words(&html! { p { "Assumed: " code { "no-multicast" } "." } }, &[]).into_string();
        assert!(plan.contains("<dt>no-multicast</dt>"), "{plan}");
        let names: Vec<String> = WORDS.iter().map(|(word, ..)| word.to_lowercase()).collect();
        assert!(names.is_sorted(), "{names:?}");
    }

    #[test]
    fn every_assumption_is_explained() {
        let plans = include_str!("../../plan/mod.rs");
        let (_, names) = plans.split_once("pub fn name(self)").expect("the names");
        let names = names.lines().filter_map(|line| line.trim().strip_prefix("Assumption::")?.split('"').nth(1));
        let explained: Vec<&str> = ASSUMPTIONS.iter().map(|(name, ..)| *name).collect();
        let mut names: Vec<&str> = names.collect();
        names.sort_unstable();
        assert_eq!(names, explained);
    }
}
