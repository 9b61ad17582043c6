#[kubewright_testkit::test(repeat = 0)]
async fn it_works() {}

fn main() {}
