//! The program; all of it is in the library.

fn main() -> std::process::ExitCode {
    narrows_agent::main()
}
