//! The operator's program; see the library for what it does.

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    on_kube_runtime::operate(kube::Client::try_default().await?).await;
    Ok(())
}
