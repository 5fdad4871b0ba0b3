//! How a command ends, and the exit code for it.

use clap::builder::styling::AnsiColor;
use std::borrow::Cow;
use std::io::Write;
use std::process::ExitCode;

/// Wrong usage or unreadable input.
pub(super) const USAGE: u8 = 2;
const NO: u8 = 1;
const UNDONE: u8 = 3;

/// Bytes from which on a line of a message is shortened.
const LONGEST_LINE: usize = 4_000;

/// The result of a command that did its work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Answer {
    /// Yes, or done.
    Yes,
    /// No: the property asked about does not hold.
    No,
}

impl From<bool> for Answer {
    fn from(yes: bool) -> Answer {
        if yes { Answer::Yes } else { Answer::No }
    }
}

/// Why a command could not do its work.
#[derive(Debug)]
pub(super) enum Failure {
    /// Wrong usage or unreadable input.
    Input(anyhow::Error),
    /// Unreadable input, already rendered with its place in the file.
    Unreadable(String),
    /// The input was valid, but the work could not be carried out.
    Undone(anyhow::Error),
}

impl Failure {
    /// A failure for which the user's input is at fault.
    pub(super) fn input(error: impl Into<anyhow::Error>) -> Failure {
        Failure::Input(error.into())
    }

    /// A failure despite valid input.
    pub(super) fn undone(error: impl Into<anyhow::Error>) -> Failure {
        Failure::Undone(error.into())
    }

    /// What happened, in a line.
    pub(super) fn text(&self) -> String {
        match self {
            Failure::Input(error) | Failure::Undone(error) => error.to_string(),
            Failure::Unreadable(text) => text.clone(),
        }
    }

    /// This failure, attributed to one of several subnets.
    pub(super) fn within(self, subnet: &str) -> Failure {
        let within = |error: anyhow::Error| error.context(format!("subnet {subnet}"));
        match self {
            Failure::Input(error) => Failure::Input(within(error)),
            Failure::Undone(error) => Failure::Undone(within(error)),
            Failure::Unreadable(_) => self,
        }
    }
}

/// The exit code of a command; prints a failure on standard error.
pub(super) fn exit_code(outcome: Result<Answer, Failure>) -> ExitCode {
    match outcome {
        Ok(Answer::Yes) => ExitCode::SUCCESS,
        Ok(Answer::No) => NO.into(),
        Err(Failure::Input(error)) => print_failure(&titled(&error), USAGE),
        Err(Failure::Unreadable(text)) => print_failure(&text, USAGE),
        Err(Failure::Undone(error)) => print_failure(&titled(&error), UNDONE),
    }
}

/// The error and its causes, each once: many of the library's messages already quote their cause.
fn titled(error: &anyhow::Error) -> String {
    let style = AnsiColor::Red.on_default().bold();
    let mut text = error.to_string();
    for cause in error.chain().skip(1).map(ToString::to_string) {
        if !text.contains(&cause) {
            text = format!("{text}: {cause}");
        }
    }
    format!("{style}error:{style:#} {text}")
}

/// If standard error is closed, the exit code alone must do.
fn print_failure(text: &str, code: u8) -> ExitCode {
    let shown: Vec<_> = text.lines().map(shortened).collect();
    let _ = writeln!(anstream::stderr(), "{}", shown.join("\n"));
    code.into()
}

/// A line of a message, which may quote a line of a file however long that is.
fn shortened(line: &str) -> Cow<'_, str> {
    if line.len() <= LONGEST_LINE {
        return line.into();
    }
    let start: String = line.chars().take(LONGEST_LINE / 4).collect();
    format!("{start} … ({} bytes in all)", line.len()).into()
}
