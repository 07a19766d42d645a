//! The program; all of it is in the library.

fn main() -> std::process::ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    narrows_shape::main(&args)
}
