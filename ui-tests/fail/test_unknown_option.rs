#[kubewright_testkit::test(sed = 7)]
async fn it_works() {}

fn main() {}
