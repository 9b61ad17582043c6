#[kubewright_testkit::test(#[cfg(unix)] seed = 7)]
async fn it_works() {}

fn main() {}
