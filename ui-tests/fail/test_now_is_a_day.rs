#[kubewright_testkit::test(now = "2026-03-01")]
async fn it_works() {}

fn main() {}
