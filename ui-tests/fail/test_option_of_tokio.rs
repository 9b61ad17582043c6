#[kubewright_testkit::test(start_paused = true)]
async fn it_works() {}

fn main() {}
