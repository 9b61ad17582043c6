#[kubewright_testkit::test(seed)]
async fn it_works() {}

fn main() {}
