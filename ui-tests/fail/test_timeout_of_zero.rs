#[kubewright_testkit::test(timeout = "0s")]
async fn it_works() {}

fn main() {}
