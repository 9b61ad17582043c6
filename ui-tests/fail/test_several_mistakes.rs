#[kubewright_testkit::test(sed = 7, repeat = 0, latency = "x")]
async fn it_works() {}

fn main() {}
