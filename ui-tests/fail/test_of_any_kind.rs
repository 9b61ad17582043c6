#[kubewright_testkit::test]
async fn an_app_gets_its_deployment<K>() {}

fn main() {}
