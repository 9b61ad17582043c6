#[kubewright_testkit::test(latency = "a little")]
async fn an_app_gets_its_deployment() {}

fn main() {}
