//! The end of a change that was cut short, against its chart.

use super::machine::vacated;
use crate::support::chart::Chart;
use crate::support::conformance::{Conformance, assert_page_is_current};
use reconfig::drain::Ticket;
use reconfig::machine::{Emptying, EmptyingCommand, EmptyingEvent, EmptyingInput, UNFINISHABLE};

fn chart() -> Chart {
    Chart::parse(include_str!("../../state-machines/emptying.yaml")).expect("state-machines/emptying.yaml can be read")
}

fn cut_short(rounds: &[u8], since_ns: u64) -> EmptyingEvent {
    EmptyingEvent::CutShort { rounds: rounds.to_vec(), since_ns }
}

fn events() -> Vec<EmptyingEvent> {
    let why = || "no answer".to_string();
    vec![
        cut_short(&[], 1),
        cut_short(&[16], 1),
        cut_short(&[2, 16], 1),
        EmptyingEvent::NothingFollows,
        EmptyingEvent::NotFollowed(why()),
        EmptyingEvent::Vacated(vacated(Ticket(0), 2)),
        EmptyingEvent::Vacated(vacated(Ticket(0), 16)),
        EmptyingEvent::Interrupted,
        EmptyingEvent::TimedOut(why()),
        EmptyingEvent::NothingLost,
        EmptyingEvent::Lost,
        EmptyingEvent::Unfinishable,
    ]
}

/// Walks through every state that events lead to, and tells `seen` each step taken.
fn explore(mut seen: impl FnMut(&Emptying, &EmptyingEvent, &Emptying, Option<&EmptyingCommand>)) {
    let mut known = Vec::new();
    let mut open = vec![Emptying::default()];
    while let Some(state) = open.pop() {
        if known.contains(&state) {
            continue;
        }
        for (event, is_missing) in events().into_iter().flat_map(|event| [false, true].map(|own| (event.clone(), own)))
        {
            let (next, command) = state.clone().step(event.clone(), EmptyingInput { now_ns: 1, is_missing });
            seen(&state, &event, &next, command.as_ref());
            open.push(next);
        }
        known.push(state);
    }
}

#[test]
fn the_end_of_a_change_that_was_cut_short_does_what_the_chart_says_and_nothing_else() {
    let mut seen = Conformance::default();
    explore(|from, event, to, command| {
        seen.meet(from.name(), event.name());
        if from != to || command.is_some() {
            let commands = command.map(|command| command.name().to_string()).into_iter().collect();
            seen.take(from.name(), event.name(), to.name(), commands);
        }
    });
    seen.assert_agrees_with(&chart());
}

#[test]
fn its_drawing_is_current() {
    assert_page_is_current(&chart());
}

/// Feeds one event after another, each a nanosecond later, from 100 on. Returns the last state and all commands.
fn fed(events: &[EmptyingEvent], is_missing: bool) -> (Emptying, Vec<EmptyingCommand>) {
    let (mut state, mut commands) = (Emptying::default(), Vec::new());
    for (event, now_ns) in events.iter().zip(100..) {
        let (next, command) = state.step(event.clone(), EmptyingInput { now_ns, is_missing });
        commands.extend(command);
        state = next;
    }
    (state, commands)
}

fn timed_out() -> EmptyingEvent {
    EmptyingEvent::TimedOut("no answer".to_string())
}

/// Whoever reads *completed* may unplug what was to leave.
#[test]
fn what_was_cut_short_is_completed_only_when_every_wait_has_its_proof() {
    use EmptyingCommand as C;
    let vacated = |rounds| EmptyingEvent::Vacated(vacated(Ticket(0), rounds));
    let whole = [cut_short(&[2, 16], 7), EmptyingEvent::NothingFollows, vacated(2), vacated(16)];
    let asked = |rounds, since_ns| C::Vacate { rounds, since_ns };
    // The second wait begins where the first one ended.
    assert_eq!(fed(&whole, false), (Emptying::Empty, vec![asked(2, 7), asked(16, 102), C::Complete]));
    let (state, commands) = fed(&[cut_short(&[2, 16], 7), EmptyingEvent::NothingFollows, vacated(16)], false);
    assert_eq!((state.name(), &commands[..]), ("looking", &[asked(2, 7), C::Look { failed: true }][..]));
    explore(|from, event, to, command| {
        let is_proved = matches!((from, event), (Emptying::Waiting(_), EmptyingEvent::Vacated(_)));
        let is_without_wait = matches!((from, event), (Emptying::Following(_), EmptyingEvent::NothingFollows));
        assert_eq!(*to == Emptying::Empty && *from != *to, command == Some(&C::Complete), "{from:?} on {event:?}");
        assert!(command != Some(&C::Complete) || is_proved || is_without_wait, "{from:?} on {event:?}");
    });
}

/// A loss that no change can serve must not be planned for again and again.
#[test]
fn what_a_change_has_left_of_a_loss_gets_a_second_change_and_no_third() {
    use EmptyingEvent as E;
    let nothing_follows = || E::NothingFollows;
    let events = [
        cut_short(&[16], 7),
        nothing_follows(),
        nothing_follows(),
        E::Interrupted,
        E::NothingLost,
        E::Interrupted,
        E::Lost,
        nothing_follows(),
        cut_short(&[16], 8),
        nothing_follows(),
    ];
    let (state, commands) = fed(&events, true);
    let names: Vec<&str> = commands.iter().map(EmptyingCommand::name).collect();
    let wanted = ["replan", "vacate", "look", "vacate", "look", "replan", "replan", "vacate"];
    assert_eq!((state.name(), &names[..]), ("waiting", &wanted[..]));
    assert_eq!(commands.last(), Some(&EmptyingCommand::Vacate { rounds: 16, since_ns: 8 }));
}

#[test]
fn a_wait_that_fails_three_times_is_given_up_with_its_reason_and_one_after_a_loss_begins_anew() {
    use EmptyingEvent as E;
    let twice = [cut_short(&[16], 7), E::NothingFollows, timed_out(), E::NothingLost, timed_out()];
    let given_up = |why: &str| Some(EmptyingCommand::GiveUp(why.to_string()));
    let after = |rest: &[EmptyingEvent]| {
        let (state, commands) = fed(&[&twice, rest].concat(), false);
        (state.name(), commands.last().cloned())
    };
    assert_eq!(after(&[E::NothingLost, timed_out()]), ("unknown", given_up("no answer")));
    assert_eq!(after(&[E::Unfinishable]), ("unknown", given_up(UNFINISHABLE)));
    let anew = after(&[E::Lost, E::NothingFollows, timed_out()]);
    assert_eq!(anew, ("looking", Some(EmptyingCommand::Look { failed: true })));
    let undone = fed(&[cut_short(&[16], 7), E::NotFollowed("aborted by the user".to_string())], false);
    assert_eq!(undone, (Emptying::Unknown, vec![EmptyingCommand::GiveUp("aborted by the user".to_string())]));
}
