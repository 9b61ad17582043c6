//! The server's own binary: HTTPS on a port, a kubeconfig that leads to it.

use clap::Parser;

fn main() -> std::process::ExitCode {
    let options = kubewright_apiserver::cli::Options::parse();
    match options.run() {
        Ok(()) => std::process::ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            std::process::ExitCode::FAILURE
        }
    }
}
