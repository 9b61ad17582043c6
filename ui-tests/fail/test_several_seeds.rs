#[kubewright_testkit::test(seeds = 100)]
async fn it_works() {}

fn main() {}
