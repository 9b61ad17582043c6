#[kubewright_testkit::test]
#[test]
async fn it_works() {}

fn main() {}
