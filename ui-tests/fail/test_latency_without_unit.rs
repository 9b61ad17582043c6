#[kubewright_testkit::test(latency = "5")]
async fn it_works() {}

fn main() {}
