#[kubewright_testkit::test(seed = -7)]
async fn it_works() {}

fn main() {}
