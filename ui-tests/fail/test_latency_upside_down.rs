#[kubewright_testkit::test(latency = "20ms..1ms")]
async fn it_works() {}

fn main() {}
