#[kubewright_testkit::test]
#[tokio::test(start_paused = true)]
async fn an_app_gets_its_deployment() {}

fn main() {}
