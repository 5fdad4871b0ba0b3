//! Properties of random values, written as for proptest's own macro. That one has its runner, and what shrinks a case,
//! compiled for every property anew, which was a tenth of the suite's code; here what is drawn is boxed, and one runner
//! serves all. The cases are the same.

use super::is_thorough;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestCaseResult, TestRunner, contextualize_config};
use std::any::Any;
use std::fmt::{self, Debug, Formatter};

/// Values of one case, all in one, and their names.
pub struct Drawn {
    names: &'static str,
    values: Box<dyn Values>,
}

trait Values: Any + Debug {}

impl<T: Any + Debug> Values for T {}

impl Debug for Drawn {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{} = {:?}", self.names, self.values)
    }
}

/// What a property draws, boxed, and the property of it.
pub fn property<S: Strategy + 'static>(
    names: &'static str,
    strategy: S,
    holds: impl Fn(S::Value) -> TestCaseResult + 'static,
) -> (BoxedStrategy<Drawn>, Box<dyn Fn(Drawn) -> TestCaseResult>)
where
    S::Value: 'static,
{
    let holds = move |drawn: Drawn| {
        let values: Box<dyn Any> = drawn.values;
        holds(*values.downcast().expect("what the strategy draws"))
    };
    (boxed(names, strategy), Box::new(holds))
}

/// By itself, so that it is compiled once for properties of the same kinds of values.
fn boxed<S: Strategy + 'static>(names: &'static str, strategy: S) -> BoxedStrategy<Drawn>
where
    S::Value: 'static,
{
    strategy.prop_map(move |values| Drawn { names, values: Box::new(values) }).boxed()
}

/// Tries a property on random cases, half as many in the brief form, and shrinks the first that it fails on.
///
/// # Panics
/// One fails.
pub fn try_all(
    config: Config,
    (file, test): (&'static str, &'static str),
    (strategy, holds): (BoxedStrategy<Drawn>, Box<dyn Fn(Drawn) -> TestCaseResult>),
) {
    let config = contextualize_config(config);
    let cases = if is_thorough() { config.cases } else { config.cases.div_ceil(2) };
    let config = Config { cases, source_file: Some(file), test_name: Some(test), ..config };
    let mut runner = TestRunner::new(config);
    if let Err(error) = runner.run(&strategy, holds) {
        panic!("{error}\n{runner}");
    }
}

/// Tests of random values: `fn name(value in strategy, …) { … }`, after `#![proptest_config(…)]` if there is one.
macro_rules! properties {
    (
        #![proptest_config($config:expr)]
        $( $(#[$meta:meta])* fn $test:ident($($value:pat in $strategy:expr),+ $(,)?) $body:block )*
    ) => {
        $(
            $(#[$meta])*
            fn $test() {
                let property = $crate::support::properties::property(
                    stringify!(($($value),+)),
                    ($($strategy,)+),
                    |($($value,)+)| {
                        let () = $body;
                        Ok(())
                    },
                );
                let place = (file!(), concat!(module_path!(), "::", stringify!($test)));
                $crate::support::properties::try_all($config, place, property);
            }
        )*
    };
    ( $($tests:tt)* ) => {
        $crate::support::properties::properties! {
            #![proptest_config(proptest::test_runner::Config::default())]
            $($tests)*
        }
    };
}

pub(crate) use properties;
