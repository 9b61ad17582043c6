#[kubewright_testkit::test(simulate = off)]
async fn it_works() {}

fn main() {}
