//! The five phases as one pure transition function.
