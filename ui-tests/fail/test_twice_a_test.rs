#[kubewright_testkit::test]
#[tokio::test]
async fn it_works() {}

fn main() {}
