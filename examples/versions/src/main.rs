//! The operator's program; see the library for what it does.

#[tokio::main]
async fn main() -> kubewright::Result<()> {
    versions::manager().run_cli().await
}
