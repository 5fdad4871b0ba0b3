//! Usage errors in this program's terms where the parser's do not help: numbers are named by their units, engines and
//! commands by their names here, and a missing change is reported without listing every option that can name one.

use clap::error::{ContextKind, ContextValue, ErrorKind};
use reconfig::routing;
use std::io::Write;

/// The standard library's messages for text that is not a number; they do not say which number is expected.
const NO_NUMBER: [&str; 2] = ["invalid digit found in string", "cannot parse integer from empty string"];

/// Commands of other programs, and their counterparts here.
const COUNTERPARTS: [(&[&str], &str); 2] = [
    (
        &["verify", "certify", "prove", "validate"],
        "`reconfig check` judges a plan, `reconfig audit` a routing that runs",
    ),
    (&["opensm", "manage", "run"], "`reconfig sm` manages a subnet"),
];

/// Prints the error of a command line.
pub(super) fn print(error: &clap::Error) {
    let text = error.render().ansi().to_string();
    // If the terminal cannot be written to, there is nowhere to report it.
    let _ = match retold(error, &text) {
        Some(text) => write!(anstream::stderr(), "{text}"),
        None => error.print(),
    };
}

/// The text of an error, if the parser's own text is not enough.
fn retold(error: &clap::Error, text: &str) -> Option<String> {
    match error.kind() {
        ErrorKind::ValueValidation => {
            let found = NO_NUMBER.iter().find(|found| text.contains(**found))?;
            Some(text.replace(found, number_of(context(error, ContextKind::InvalidArg)?)))
        }
        ErrorKind::InvalidValue => {
            let own = routing::of_opensm(context(error, ContextKind::InvalidValue)?)?;
            Some(with_tip(text, &own))
        }
        ErrorKind::InvalidSubcommand => {
            let name = context(error, ContextKind::InvalidSubcommand)?;
            let (_, own) = COUNTERPARTS.iter().find(|(names, _)| names.contains(&name))?;
            Some(with_tip(text, own))
        }
        ErrorKind::UnknownArgument => {
            let own = elsewhere(context(error, ContextKind::InvalidArg)?, text)?;
            Some(with_tip(text, &own))
        }
        ErrorKind::MissingRequiredArgument => {
            let Some(ContextValue::Strings(missing)) = error.get(ContextKind::InvalidArg) else { return None };
            let [change] = &missing[..] else { return None };
            let steady = if change.contains("--steady") { ", --steady for traffic alone" } else { "" };
            let title = text.split_once("the following")?.0;
            let tail = text.rsplit_once("\n\n")?.1;
            change.contains("AFTER").then(|| {
                format!(
                    "{title}say what changes: --remove-switch, --remove-link, --remove-host, --add-switch, --move-cable \
                     (--help has all){steady}, or a second capture\n\n{tail}"
                )
            })
        }
        _ => None,
    }
}

/// The name of this option in another command, or the commands that have it.
fn elsewhere(option: &str, text: &str) -> Option<String> {
    match option {
        "--fdbs" | "--lfts"
            if ["plan", "simulate", "what-if"].iter().any(|own| text.contains(&format!("reconfig {own}"))) =>
        {
            Some(format!("--from-{} FILE names tables that run already", &option[2..]))
        }
        _ if ["--remove-", "--add-", "--move-"].iter().any(|change| option.starts_with(change))
            && text.contains("reconfig what-if") =>
        {
            Some(format!("`reconfig what-if` tries every switch and cable; `plan` and `simulate` take {option}"))
        }
        _ => None,
    }
}

fn context(error: &clap::Error, kind: ContextKind) -> Option<&str> {
    match error.get(kind)? {
        ContextValue::String(text) => Some(text),
        _ => None,
    }
}

/// The number that an option takes, by the name of its value: `--warm-up <US>`.
fn number_of(option: &str) -> &'static str {
    match option.rsplit_once('<').map_or("", |(_, name)| name.trim_end_matches(['>', '.', ']'])) {
        "NS" => "expected a whole number of nanoseconds, such as 5000",
        "US" => "expected a whole number of microseconds, such as 5000",
        "MS" => "expected a whole number of milliseconds, such as 5000",
        _ => "expected a whole number",
    }
}

/// A message with this tip in place of the parser's own.
fn with_tip(text: &str, tip: &str) -> String {
    let (said, tail) = text.rsplit_once("\n\n").unwrap_or((text, ""));
    let said = said
        .lines()
        .filter(|line| !line.contains("a similar") && !line.contains("as a value, use"))
        .collect::<Vec<_>>()
        .join("\n");
    format!("{}\n\n  tip: {tip}\n\n{tail}", said.trim_end())
}

#[cfg(test)]
mod tests {
    use super::number_of;

    #[test]
    fn numbers_are_named_by_the_values_of_their_options() {
        assert!(number_of("--warm-up <US>").contains("microseconds"));
        assert!(number_of("--seed <SEED>").ends_with("whole number"));
    }
}
