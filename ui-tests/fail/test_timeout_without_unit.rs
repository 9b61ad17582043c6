#[kubewright_testkit::test(timeout = 5)]
async fn it_works() {}

fn main() {}
