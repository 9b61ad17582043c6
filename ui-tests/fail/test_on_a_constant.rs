#[kubewright_testkit::test]
const IT_WORKS: bool = true;

fn main() {}
