//! `cargo kubewright`: starts new operators.

mod new;
mod project;

use clap::{Parser, Subcommand};

/// As cargo calls it: `cargo-kubewright kubewright new …`.
#[derive(Debug, Parser)]
#[command(name = "cargo", bin_name = "cargo", disable_help_subcommand = true)]
enum Cargo {
    /// Tools for Kubewright operators
    #[command(version, subcommand, arg_required_else_help = true)]
    Kubewright(Command),
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Write a new operator: a kind, a controller, a test and a sample
    New(new::Args),
}

fn main() {
    let Cargo::Kubewright(Command::New(args)) = Cargo::parse();
    match new::run(&args) {
        Ok(next) => println!("{next}"),
        Err(error) => {
            eprintln!("error: {error}");
            std::process::exit(1);
        }
    }
}
