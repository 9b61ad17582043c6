#[kubewright_testkit::test(crate = "kubewright_testkit")]
async fn it_works() {}

fn main() {}
