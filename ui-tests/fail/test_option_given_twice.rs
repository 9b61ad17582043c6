#[kubewright_testkit::test(seed = 7, seed = 8)]
async fn it_works() {}

fn main() {}
