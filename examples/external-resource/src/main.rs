//! The operator's program. `DIRECTORIES` says where its directories lie; by default `directories` where it is started.

use std::env;
use std::path::PathBuf;

#[tokio::main]
async fn main() -> kubewright::Result<()> {
    let root = env::var_os("DIRECTORIES").map_or_else(|| PathBuf::from("directories"), PathBuf::from);
    external_resource::manager(root).run_cli().await
}
